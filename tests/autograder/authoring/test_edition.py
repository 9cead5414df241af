"""The student edition: what is in it, what is not, and that it replaces only what it wrote."""

import contextlib
import io
import json
import zipfile

import nbformat
import pytest

from autograder.authoring import unpacked
from autograder.authoring.edition import LIST, make, write
from autograder.authoring.release import ReleasedSet
from autograder.authoring.unpacked import LISTS, clean, lists
from autograder.records import GraderError
from tests.autograder.conftest import make_toy_course


@pytest.fixture
def course(tmp_path):
    """A toy course with an edition: its own README, a package, and questions with answers."""
    toy_course = make_toy_course(tmp_path / "tree" / "assignments")
    folder = toy_course.folder
    (folder / "edition").mkdir()
    (folder / "edition" / "README.md").write_text("# Begin here\n")
    (folder / "edition" / "AGENTS.md").write_text("# Tutor, do not solve\n")
    (folder / "exam").mkdir()
    (folder / "exam" / "spins.md").write_text(
        "## Why\n\n### Answer\nBecause a recurrence of this kind contracts\nevery vector "
        "towards the fixed point that it has in common with all others.\n"
    )
    (folder / "oral_questions.md").write_text(
        "Ask why. A good answer says that gradients of a sum flow unchanged to each of its terms.\n"
    )
    (toy_course.top / "pkg" / "__pycache__").mkdir(parents=True)
    (toy_course.top / "pkg" / "__init__.py").write_text('"""The package."""\n')
    (toy_course.top / "pkg" / "__pycache__" / "x.pyc").write_bytes(b"\0")
    (toy_course.top / "pkg" / ".hidden").write_text("x")
    (folder / "course.toml").write_text('[edition]\n"pkg" = "pkg"\n"built" = "book/pages"\n')
    return toy_course


def test_edition_holds_notebooks_package_and_words_of_its_own_and_nothing_else(course, tmp_path):
    made = make(course)
    assert sorted(path for path in made.files if not path.startswith(LISTS)) == [
        "AGENTS.md",
        "README.md",
        "pkg/__init__.py",
        "problem_sets/toy/AGENTS.md",
        "problem_sets/toy/toy.ipynb",
    ]
    assert made.missing == (course.top / "built",)
    archive = write(made, tmp_path / "out" / "lm")
    with zipfile.ZipFile(archive) as packed:
        assert sorted(packed.namelist()) == sorted(f"lm/{path}" for path in made.files)
        notebook = nbformat.reads(packed.read("lm/problem_sets/toy/toy.ipynb").decode(), 4)
        rights = {one.filename: one.external_attr >> 16 for one in packed.infolist()}
    # Who opens it there is told by Jupyter that it cannot be saved: a newer edition replaces it.
    closed = {name for name, right in rights.items() if not right & 0o222}
    assert closed == {"lm/problem_sets/toy/toy.ipynb"}
    assert notebook == ReleasedSet(course, "toy").notebooks.student
    data = archive.read_bytes()
    assert write(make(course), tmp_path / "out" / "lm").read_bytes() == data  # the same, again


def test_slides_of_the_edition_have_no_speaker_notes(course):
    note = "Wait for three hands. <strong>Answer.</strong> A recurrence contracts."
    slides = f'<section><h2>Why?</h2><aside class="notes"><p>{note}</p>\n</aside></section>'
    aside = '<aside class="margin">A word beside the text.</aside>'
    (course.top / "built" / "slides").mkdir(parents=True)
    (course.top / "built" / "slides" / "spins.html").write_text(slides * 2 + aside)
    made = make(course).files
    assert (
        made["book/pages/slides/spins.html"].decode()
        == "<section><h2>Why?</h2></section>" * 2 + aside
    )


def secret_texts(course):
    checks = ReleasedSet(course, "toy").problem_set.checks
    mistake = max((m for check in checks for m in check.mistakes), key=lambda m: len(m.hint))
    return {
        "mistake": mistake.hint,
        "exam": "a recurrence of this kind contracts every vector towards the fixed point that it",
        "oral": "says that gradients of a sum flow unchanged to each of its terms",
    }


def as_page(text):
    return "<p>" + text.replace(" ", "</span> <span>").replace("'", "&#x27;") + "</p>"


def as_notebook(text):
    cell = nbformat.v4.new_code_cell(text.replace(" ", "\n"))
    return nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))


def as_archive(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("package/module.py", f'"""{text}"""\n')
    return out.getvalue()


@pytest.mark.parametrize("kind", ["mistake", "exam", "oral"])
@pytest.mark.parametrize(
    ("name", "hide"),
    [
        ("page.html", as_page),
        ("notebook.ipynb", as_notebook),
        ("package.whl", as_archive),
        ("searchindex.js", lambda text: json.dumps({"titles": [text.upper()]})),
        ("module.py", lambda text: "# " + text.replace(" ", "\n# ")),
    ],
)
def test_secret_is_found_in_whatever_it_hides_in(course, tmp_path, kind, name, hide):
    hidden = hide(secret_texts(course)[kind])
    path = course.top / "pkg" / name
    path.write_bytes(hidden if isinstance(hidden, bytes) else hidden.encode())
    named = "exam" if kind == "oral" else kind
    with pytest.raises(GraderError, match=rf"nothing was written.*\npkg/{name}.*: {named} of"):
        make(course)


def test_solution_in_the_readme_is_refused_and_in_the_package_is_counted(course):
    source = course.source("toy")
    source.write_text(
        source.read_text().replace(
            "### BEGIN SOLUTION\n",
            "### BEGIN SOLUTION\n    remainder, quotient, divisor = divmod(numerator, "
            "denominator), None, greatest_common(numerator)\n",
            1,
        )
    )
    line = "remainder, quotient, divisor = divmod(numerator, denominator), None, greatest_common"
    (course.top / "pkg" / "__init__.py").write_text(f"{line}(numerator)\n")
    assert {one.kind for one in make(course).public} == {"solution"}
    (course.folder / "edition" / "README.md").write_text(f"Write {line}(numerator).\n")
    with pytest.raises(GraderError, match=r"README\.md: solution of toy_\w+_answer"):
        make(course)


@pytest.mark.parametrize("path", ["assignments", "assignments/toy", "../secret", "."])
def test_edition_takes_nothing_from_the_folder_of_the_sets_or_from_outside(course, path):
    (course.folder / "course.toml").write_text(f'[edition]\n"{path}" = "x"\n')
    with pytest.raises(GraderError, match="it must lie in"):
        make(course)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "problem_sets/toy/toy.ipynb").write_text("my answers"),
        lambda folder: (folder / "problem_sets/toy/mine.py").write_text("my own"),
        lambda folder: folder.with_name("lm.zip").write_bytes(b"another archive"),
        lambda folder: (folder / LIST).unlink(),
        lambda folder: (folder / "link").symlink_to("/"),
    ],
)
def test_edition_replaces_only_what_it_wrote(course, tmp_path, change):
    made, folder = make(course), tmp_path / "out" / "lm"
    write(made, folder)
    change(folder)
    before = snapshot(tmp_path / "out")
    with pytest.raises(GraderError, match="nothing was written"):
        write(made, folder)
    assert snapshot(tmp_path / "out") == before


def test_edition_takes_what_is_gone_away_and_survives_a_kill_between_its_parts(
    course, tmp_path, monkeypatch
):
    folder = tmp_path / "out" / "lm"
    (course.top / "pkg" / "old.py").write_text("OLD = 1\n")
    write(make(course), folder)
    (course.top / "pkg" / "old.py").unlink()
    (course.top / "pkg" / "new.py").write_text("NEW = 1\n")
    with monkeypatch.context() as patch:
        patch.setattr("autograder.authoring.edition.write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            write(make(course), folder)
    write(make(course), folder)  # goes on: what stands there is its own
    assert (folder / "pkg" / "new.py").is_file() and not (folder / "pkg" / "old.py").exists()
    assert [path.name for path in folder.parent.glob(".lm-*")] == []


@pytest.mark.parametrize("name", ["work/ps1/ps1.ipynb", "../outside", "link/x", "/{outside}", "."])
def test_what_no_edition_may_have_written_is_not_deleted_by_a_newer_one(tmp_path, name):
    top, outside = tmp_path / "lm", tmp_path / "outside"
    outside.write_text("mine")
    (top / "work" / "ps1").mkdir(parents=True)
    (top / "work" / "ps1" / "ps1.ipynb").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_text("mine")
    (top / "link").symlink_to(tmp_path / "elsewhere")
    for files in ({name.format(outside=outside): b"mine"}, {"other": b""}):
        for path, data in lists(files).items():
            (top / path).parent.mkdir(exist_ok=True)
            (top / path).write_bytes(data)
    before = {path for path in tmp_path.rglob("*") if path.suffix != ".json"}
    assert clean(top) == []
    assert {path for path in tmp_path.rglob("*") if path.suffix != ".json"} == before


OLDER = {
    "chapters/ngrams.ipynb": b"{}",
    "chapters/gpt.ipynb": b"{}",
    "pkg/gpt.py": b"x = 1\n",
    "pkg/old.py": b"",
}
NEWER = OLDER | {"chapters/ngrams.ipynb": b"[]", "pkg/gpt.py": b"x = 2\n", "pkg/new.py": b"y = 1\n"}
del NEWER["pkg/old.py"]


@pytest.fixture
def student(tmp_path):
    """A folder with the older edition, of which a student has changed some and added some."""
    place = tmp_path / "lm"
    for name, data in (OLDER | lists(OLDER)).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    (place / "chapters" / "ngrams.ipynb").write_text("with my notes")
    (place / "chapters" / "gpt.ipynb").write_text("with my outputs")
    (place / "chapters" / "mine.ipynb").write_text("my own")
    (place / "work").mkdir()
    (place / "work" / "answers").write_text("my answers")
    return place


def packed(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"lm-spring/{name}", data)
    return path


def mine_in(folder):
    return {p.read_text() for p in folder.rglob("*") if p.is_file() and "my " in p.read_text()}


def test_newer_edition_comes_in_and_all_that_a_student_has_made_stays(student, tmp_path):
    """Unpacked over the older one, it would have taken the place of two chapters with notes."""
    newer = packed(tmp_path / "lm-spring.zip", NEWER | lists(NEWER))
    (student / "chapters" / "gpt.ipynb").chmod(0o600)
    before = mine_in(student)
    said = unpacked.unpack(newer, student)
    assert [line.partition(":")[0] for line in said] == [
        "chapters/gpt.ipynb",
        "chapters/ngrams.ipynb",
    ]
    assert clean(student) == [
        "1 file of an earlier edition deleted: this one has no more use for them"
    ]
    assert {name: (student / name).read_bytes() for name in NEWER} == NEWER
    assert mine_in(student) == before and len(before) == 4
    assert unpacked.unpack(newer, student) == [] == clean(student)


@pytest.mark.parametrize("n_th", range(1, 7))
def test_newer_edition_that_was_interrupted_is_brought_in_by_a_second_run(
    student, tmp_path, monkeypatch, n_th
):
    newer, before = packed(tmp_path / "new.zip", NEWER | lists(NEWER)), mine_in(student)
    real, places = unpacked.write_atomically, []

    def write(path, data):
        places.append(path)
        if len(places) == n_th:
            raise OSError(28, "No space left on device")
        real(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(unpacked, "write_atomically", write)
        with contextlib.suppress(GraderError):
            unpacked.unpack(newer, student)
    clean(student)
    assert mine_in(student) == before
    unpacked.unpack(newer, student)
    assert {name: (student / name).read_bytes() for name in NEWER} == NEWER
    assert mine_in(student) == before


@pytest.mark.parametrize("name", ["work/answers", "../outside", "/tmp/x", "link/x", ""])
def test_zip_file_that_is_no_edition_changes_nothing(student, tmp_path, name):
    (student / "link").symlink_to(tmp_path)
    files = NEWER | lists(NEWER) | {name: b"theirs"} if name else NEWER
    before = snapshot(student)
    with pytest.raises(GraderError, match="is no student edition"):
        unpacked.unpack(packed(tmp_path / "x.zip", files), student)
    (tmp_path / "half.zip").write_bytes((tmp_path / "x.zip").read_bytes()[:300])
    with pytest.raises(GraderError, match=r"half\.zip is damaged, or no zip file"):
        unpacked.unpack(tmp_path / "half.zip", student)
    assert snapshot(student) == before


def test_edition_takes_nobodys_place_in_a_clone_of_the_course(student, tmp_path):
    """Its README, pyproject.toml and package are others: those of the clone are git's to bring."""
    (student / "assignments").mkdir()
    (student / "assignments" / "course.toml").write_text("")
    newer, before = packed(tmp_path / "new.zip", NEWER | lists(NEWER)), snapshot(student)
    with pytest.raises(GraderError, match=r"the course's own folder, in which `git pull`"):
        unpacked.unpack(newer, student)
    with zipfile.ZipFile(newer) as archive:  # by hand, against all advice
        for name in archive.namelist():
            (student / name.partition("/")[2]).write_bytes(archive.read(name))
    assert clean(student) == []
    assert {path for path in before if not path.exists()} == set()


def killed(*_):
    raise KeyboardInterrupt


def snapshot(folder):
    return {
        path: path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }
