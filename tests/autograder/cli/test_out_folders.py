"""Every `--out` replaces what its command has written there, and nothing of somebody else's."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli.main import main

ROOT = Path(__file__).parents[3]
MAKERS = {
    "release": ("toy",),
    "edition": (),
    "gradescope": ("toy",),
    "syllabus": ("--calendar", "10", "--no-pdf"),
    "cartridge": ("--calendar", "workshop"),
    "exam": ("--minutes", "20", "--chapters", "1", "--no-pdf"),
    "grade": ("toy", "--submissions", "handed_in"),
}
OF_THE_COURSE = ("syllabus", "cartridge", "exam")  # the toy has no calendar and no questions
READERS = {  # their --out is where a class was graded
    "dashboard": ("toy",),
    "explain": ("toy", "ada"),
    "export": ("toy",),
    "feedback": ("toy", "--to", "mail"),
    "leaderboard": ("toy",),
    "similarity": ("toy",),
}


@pytest.fixture
def run(toy_course, hand_in, toys, tmp_path, monkeypatch, without_sandbox):
    """Return a function that runs a command, with a class that waits to be graded."""
    monkeypatch.chdir(tmp_path)
    (toy_course.folder / "edition").mkdir()
    (toy_course.folder / "edition" / "AGENTS.md").write_text("# Tutor\n")
    hand_in("ada", double=toys.double).rename(tmp_path / "handed_in")

    def invoke(name: str, *words: str, out: Path) -> int:
        folder = ROOT / "assignments" if name in OF_THE_COURSE else toy_course.folder
        arguments = [f"--course={folder}", name, *words, f"--out={out}"]
        return CliRunner().invoke(main, arguments).exit_code

    return invoke


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def visible(folder: Path) -> list[str]:
    """What a command writes for people; locks and lists of its own are hidden."""
    return [name for name in files_below(folder) if not Path(name).name.startswith(".")]


def somebody_elses(names, folder: Path) -> dict[str, bytes]:
    """Put a file of somebody else's under each of these names."""
    written = {name: f"mine, and not yours: {name}".encode() for name in names}
    for name, data in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return written


def test_every_command_with_a_folder_to_write_into_is_tried():
    options = {name: {o for p in one.params for o in p.opts} for name, one in main.commands.items()}
    assert {name for name, found in options.items() if "--out" in found} == {
        *MAKERS,
        *READERS,
        "formgrader",  # a server, which is started in test_cli.py
        "written",  # one, too: test_written.py
    }


@pytest.fixture(autouse=True)
def needs(request):
    """Leave out what cannot be made here, and say why."""
    if request.node.name.endswith("[exam]"):
        pytest.importorskip("text2qti", reason="exam needs text2qti: requirements.txt has it")


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_command_did_not_write_is_found_again(run, tmp_path, name):
    run(name, *MAKERS[name], out=tmp_path / "a" / "out")
    names = visible(tmp_path / "a")
    assert names
    mine = somebody_elses(names, tmp_path / "b")
    run(name, *MAKERS[name], out=tmp_path / "b" / "out")
    everywhere = set(files_below(tmp_path).values())
    assert [path for path, data in mine.items() if data not in everywhere] == []


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_command_has_written_it_replaces_until_somebody_changes_it(run, tmp_path, name):
    out = tmp_path / "a" / "out"
    assert [run(name, *MAKERS[name], out=out) for _ in range(2)] == [0, 0]
    pages = [path for path in out.rglob("*.md") if path.is_file()]
    for page in pages:
        page.write_text(page.read_text() + "my own line about it\n")
    run(name, *MAKERS[name], out=out)
    mine = [path for path in tmp_path.rglob("*.md") if b"my own line about it" in path.read_bytes()]
    assert len(mine) >= len(pages)


@pytest.mark.parametrize("name", READERS)
def test_who_reads_a_class_writes_nothing_where_there_is_none(run, tmp_path, name):
    run("grade", *MAKERS["grade"], out=tmp_path / "a" / "out")
    mine = somebody_elses(visible(tmp_path / "a"), tmp_path / "b")
    assert run(name, *READERS[name], out=tmp_path / "b" / "out") != 0
    found = files_below(tmp_path / "b")
    assert {path: found[path] for path in mine} == mine
