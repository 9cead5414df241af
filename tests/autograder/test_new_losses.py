"""Ways of losing work that somebody invented: each was tried, and none of them loses any."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.authoring.course import COURSE_VARIABLE
from autograder.authoring.fingerprints import read_notebook
from autograder.authoring.notebooks import as_text
from autograder.authoring.workspace import copy_of
from autograder.class_run import own_work
from autograder.class_run.build_folder import empty
from autograder.cli.main import main
from autograder.grading import grader

ROOT = Path(__file__).parents[2]
MINE = "return 'my answer'"
RELEASED = Path("_build/course/release/toy/toy.ipynb")


def do(*words):
    result = CliRunner().invoke(main, words)
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    return result.output


@pytest.fixture
def tree(toys, tmp_path, monkeypatch, without_sandbox):
    top = tmp_path / "top"
    course = toys.make_course(top / "assignments")
    (course.folder / "edition").mkdir()
    for name in ("README.md", "AGENTS.md"):
        (course.folder / "edition" / name).write_text(f"# {name}\n")
    monkeypatch.chdir(top)
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    monkeypatch.setattr(own_work, "OwnProcess", grader.Sandbox)
    return course


def answer(path):
    notebook = read_notebook(path.read_bytes())
    for cell in notebook["cells"]:
        if cell["id"] == "toy_double_answer":
            cell["source"] = f"def double(numbers):\n    {MINE}"
    path.write_text(json.dumps(notebook))


def newer(course):
    source = course.source("toy")
    source.write_text(source.read_text().replace("# Write two", "# Please write two", 1))


def hand_in(course, toys, place):
    place.mkdir()
    notebook = toys.answer(course, double=toys.double)
    (place / "ada.ipynb").write_text(as_text(notebook))


def found():
    return [p for p in Path().rglob("*.ipynb") if p.is_file() and MINE in p.read_text()]


@pytest.mark.parametrize("link", ["toy/toy.ipynb", "toy", ""])
def test_workspace_that_is_a_link_to_the_folder_of_releases(tree, link):
    """The notebook moved from there into itself, and was gone."""
    do("release", "toy")
    place = Path("work") / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(
        [RELEASED.parents[1], RELEASED.parent, RELEASED][len(Path(link).parts)].absolute()
    )
    answer(RELEASED)
    newer(tree)
    said = do("work")
    assert ("now in work/toy/toy.ipynb" in said) is (link == "toy/toy.ipynb")
    assert ("take the link away" in said) is (link != "toy/toy.ipynb")
    do("release", "toy")
    empty(Path("_build"))
    assert found()


def test_build_folder_that_is_a_link_to_one_with_other_things(tree, tmp_path):
    """`make clean` emptied it."""
    (tmp_path / "scratch" / "thesis").mkdir(parents=True)
    (tmp_path / "scratch" / "thesis" / "chapter.md").write_text("mine")
    Path("_build").symlink_to(tmp_path / "scratch")
    do("release", "toy")
    (line,) = empty(Path("_build"))
    assert line.startswith("left: _build is a link to ")
    assert (tmp_path / "scratch" / "thesis" / "chapter.md").exists() and RELEASED.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
def test_folder_that_is_mounted_below_the_build(tree, tmp_path):
    (tmp_path / "my data").mkdir()
    (tmp_path / "my data" / "notes.md").write_text("mine")
    place = Path("_build/my data")
    place.mkdir(parents=True)
    command = ["mount", "--bind", str(tmp_path / "my data"), str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        assert empty(Path("_build")) == (
            f"left: {place.absolute()}, for it is mounted from elsewhere",
        )
        assert (tmp_path / "my data" / "notes.md").exists()
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert empty(Path("_build")) == () and not Path("_build").exists()
    assert (tmp_path / "my data" / "notes.md").exists()


def test_two_students_windows_bring_a_newer_release_at_once(tree):
    do("work")
    path = copy_of("toy", Path("work"))
    answer(path)
    newer(tree)
    command = [sys.executable, "-m", "autograder", "work"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert MINE in path.read_text() and "Please write" in path.read_text()
    assert len(found()) >= 2  # and as it was


@pytest.mark.parametrize(
    "name", ["toy/TOY.ipynb", "Toy/toy.ipynb", "toy.ipynb", "old/2026/toy.ipynb"]
)
def test_notebook_that_was_renamed_or_put_elsewhere_in_the_workspace_is_named(tree, name):
    do("work")
    other = Path("work") / name
    answer(copy_of("toy", Path("work")))
    other.parent.mkdir(parents=True, exist_ok=True)
    copy_of("toy", Path("work")).rename(other)
    assert f"answers to it are in {other}" in do("work")
    assert other in found()


def test_class_that_is_graded_from_its_own_folders_keeps_what_was_received(tree, toys):
    hand_in(tree, toys, Path("handed"))
    for out in ("class", "handed"):
        assert "Feedback" in do("grade", "toy", "--submissions", "handed", "--out", out)
    for folder in ("class", "handed"):
        before = {p: p.read_bytes() for p in Path(folder).rglob("*.ipynb")}
        assert before
        for place in {path.parent for path in before}:
            do("grade", "toy", "--submissions", str(place), "--out", folder)
            assert {path: path.read_bytes() for path in before} == before


def test_no_command_that_is_told_to_write_into_the_workspace_replaces_anything(tree, toys):
    do("work")
    path = copy_of("toy", Path("work"))
    answer(path)
    Path("work/notes.md").write_text("mine")
    Path("work/toy/toy-feedback.html").write_text("mine")
    Path("work/gradebook.db").write_text("mine")
    mine = {p: p.read_bytes() for p in Path("work").rglob("*") if p.is_file()}
    hand_in(tree, toys, Path("handed"))
    for words in (
        ["release", "toy", "--out", "work"],
        ["release", "toy", "--out", "work/toy"],
        ["edition", "--out", "work"],
        ["edition", "--out", "work/toy"],
        ["edition", "--out", "."],
        ["grade", "toy", "--submissions", "handed", "--out", "work"],
        ["gradescope", "toy", "--out", "work"],
        ["work", "--from", "work", "--work", "work"],
        ["mine", "toy", "--no-open"],
    ):
        do(*words)
        assert {path: path.read_bytes() for path in mine} == mine, words


def test_checkpoint_that_is_restored_and_an_older_version_of_the_course(tree):
    do("work")
    path = copy_of("toy", Path("work"))
    answer(path)
    checkpoint, source = path.read_bytes(), tree.source("toy").read_text()
    newer(tree)
    do("work")
    path.write_bytes(checkpoint)
    do("work")
    assert MINE in path.read_text() and "Please write" in path.read_text()
    tree.source("toy").write_text(source)  # git checkout
    do("work")
    assert MINE in path.read_text() and "Please write" not in path.read_text()
