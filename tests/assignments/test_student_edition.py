"""The student edition of this course: complete, without a secret, and enough to work with."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.course import Course
from autograder.authoring.edition import LIST, make, write
from autograder.authoring.fingerprints import text_digest
from autograder.authoring.lint import secret_lines
from autograder.authoring.notebooks import is_answer
from autograder.authoring.release import ReleasedSet
from autograder.authoring.secrets import EXAM, MISTAKE
from autograder.authoring.unpacked import LISTS, lists

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from coursebook import slides  # noqa: E402

WORD = r"[^\W_]+"
DECKS = [slides.read_deck(path) for path in sorted(slides.SOURCES.glob("*.md"))]
# The package and the chapters are public by design; the book's pages are made of these.
PUBLIC = ("course_pkg/", "book/", "chapters/")


class Anything:
    """A chapter's page that has whatever a deck asks for, since a fresh tree has no built book."""

    title, licence = "Any", ""

    def __init__(self, deck):
        said = "\n".join(f"{slide.title} {slide.text} {slide.notes}" for slide in deck.slides)
        self.words = f"{said} 0 "

    def number(self, pattern):
        return "0"

    def take(self, kind, name, *, waits=False):
        return "<p>shown</p>"

    def scripts(self, name):
        return []


class CourseWithDecks(Course):
    """This course with the decks as its book has them, notes and all."""

    decks: Path

    def edition(self):
        return super().edition() | {self.decks: "book/pages/slides"}


COURSE = CourseWithDecks(ROOT / "assignments")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All files of the edition, which were searched by then."""
    COURSE.decks = tmp_path_factory.mktemp("slides")
    for deck in DECKS:
        page = slides.render_deck(deck, Anything(deck))
        (COURSE.decks / f"{deck.name}.html").write_text(page, "utf-8")
    return make(COURSE)


@pytest.fixture(scope="module")
def edition(made, tmp_path_factory):
    """The folder as the command makes it, and the zip file."""
    folder = tmp_path_factory.mktemp("student") / "lm"
    return folder, write(made, folder)


@pytest.fixture(scope="module")
def lines(edition):
    """Where each line of the edition stands; a notebook's strings are taken apart."""
    found = {}
    with zipfile.ZipFile(edition[1]) as packed:
        for name in packed.namelist():
            place = name.partition("/")[2]
            text = packed.read(name).decode("utf-8", errors="replace")
            if place.endswith(".ipynb"):
                text = "\n".join(cell.source for cell in nbformat.reads(text, 4).cells)
            for line in text.splitlines():
                found.setdefault(" ".join(line.split()), []).append(place)
    return found


def test_edition_has_what_a_student_needs_and_nothing_of_ours(edition):
    folder, archive = edition
    names = {path.name for path in folder.iterdir()} - {LIST, "chapters"}
    assert names == {
        *("README.md", "AGENTS.md", "LICENSE", "CITATION.cff", "pyproject.toml"),
        *("requirements.txt", "constraints.txt", "course_pkg", "book", "problem_sets"),
        *("work.py", "visible_tests.py", ".github", "autograder", LISTS),
    }
    with zipfile.ZipFile(archive) as packed:
        packed_names = {name.partition("/")[2] for name in packed.namelist()}
    walked = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert packed_names == walked - {LIST}
    for name in COURSE.sets():
        assert {f"problem_sets/{name}/{name}.ipynb", f"problem_sets/{name}/AGENTS.md"} <= walked
    parts = {part for path in walked for part in Path(path).parts}
    assert not parts & {"assignments", "tests", ".git", "__pycache__", "answers", "work"}
    grader = {path.removeprefix("autograder/") for path in walked if path.startswith("autograder/")}
    assert grader == {
        *("__init__.py", "files.py", "records.py", "handed_out.py", "authoring/__init__.py"),
        *("authoring/assistant_rules.py", "authoring/notebooks.py"),
        *("authoring/fingerprints.py", "authoring/newer_release.py"),
        *("authoring/unpacked.py", "authoring/workspace.py"),
    }


def test_no_hint_mistake_exam_answer_or_check_stands_on_a_line_of_the_edition(lines):
    prose = [
        text
        for name in COURSE.sets()
        for check in COURSE.problem_set(name).checks
        for mistake in check.mistakes
        for text in (mistake.name, mistake.hint)
    ]
    assert len(prose) > 2000
    for page in COURSE.folder.glob("*.md"):
        prose += [line for line in page.read_text("utf-8").splitlines() if len(line) > 60]
    assert [text for text in prose if " ".join(text.split()) in lines] == []


def sentences_of_notes():
    """Every sentence of five words and more that is said and not shown, without formulas."""
    for deck in DECKS:
        shown = " ".join(f"{slide.title} {slide.text}" for slide in deck.slides)
        shown = f" {' '.join(re.findall(WORD, shown))} "
        for slide in deck.slides:
            plain = slides.NAMED.sub("|", slides.MATH.sub("|", slide.notes))
            for sentence in re.split(r"(?<=[.?!:;])\s|[|*\n]", plain):
                words = re.findall(WORD, sentence)
                said = " ".join(words)
                if len(words) >= 5 and f" {said} " not in shown:
                    yield deck.name, said


def as_words(page):
    words = re.findall(WORD, slides.BeautifulSoup(page, "lxml").get_text(""))
    return f" {' '.join(words)} "


def test_no_slide_of_the_edition_has_what_the_lecturer_says(made):
    """And it is the notes alone that go: the same decks had every sentence before."""
    assert len(DECKS) == 16
    given, own = {}, {}
    for deck in DECKS:
        page = made.files[f"book/pages/slides/{deck.name}.html"].decode("utf-8")
        assert "<aside" not in page and "Answer." not in page
        assert page.count("<section") == len(deck.slides)
        given[deck.name] = as_words(page)
        own[deck.name] = as_words((COURSE.decks / f"{deck.name}.html").read_text("utf-8"))
    said = list(sentences_of_notes())
    assert len(said) > 1500
    assert [one for one in said if f" {one[1]} " not in own[one[0]]] == []
    assert [one for one in said if f" {one[1]} " in given[one[0]]] == []


def test_lines_of_solutions_stand_only_where_the_package_or_a_chapter_has_them(lines):
    released, secret = set(), set()
    for name in COURSE.sets():
        notebooks = ReleasedSet(COURSE, name).notebooks
        for cell in notebooks.student.cells:
            released |= {line.strip() for line in cell.source.splitlines()}
        for cell in notebooks.source.cells:
            secret |= {line for line in secret_lines(cell.source) if len(line) > 30}
    secret -= released
    assert len(secret) > 200
    places = {place for line in secret for place in lines.get(line, [])}
    assert [place for place in places if not place.startswith(PUBLIC)] == []


def test_grader_in_the_wheel_gives_no_hint_mistake_or_exam_answer_away(made):
    files = [path for path in (ROOT / "autograder").rglob("*") if path.is_file()]
    found = [
        one
        for path in files
        if "__pycache__" not in path.parts
        for one in made.secrets.find(path.name, path.read_bytes())
        if one.kind in (MISTAKE, EXAM)
    ]
    assert found == []


def test_every_set_has_three_questions_to_be_asked_in_person():
    text = (COURSE.folder / "oral_questions.md").read_text("utf-8")
    for name in COURSE.sets():
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert len(re.findall(r"^\d\. \*\*", section, re.MULTILINE)) >= 3, name


def test_package_of_the_edition_is_the_course_s_own():
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    theirs = tomllib.loads((COURSE.folder / "edition" / "pyproject.toml").read_text("utf-8"))
    for key in ("name", "version", "requires-python", "license"):
        assert theirs["project"][key] == ours["project"][key]
    needed = ours["project"]["dependencies"] + ours["project"]["optional-dependencies"]["course"]
    assert theirs["project"]["dependencies"] == needed
    data = ours["tool"]["setuptools"]["package-data"]
    assert theirs["tool"]["setuptools"]["package-data"] == {
        package: files for package, files in data.items() if package.startswith("course_pkg")
    }
    assert theirs["build-system"] == ours["build-system"]


def test_student_answers_a_task_in_the_edition_and_its_visible_tests_pass(edition, tmp_path):
    with zipfile.ZipFile(edition[1]) as packed:
        packed.extractall(tmp_path)
    place = tmp_path / "lm" / "problem_sets" / "ps1"
    solution = {c.id: c.source for c in ReleasedSet(COURSE, "ps1").notebooks.solution.cells}
    notebook = nbformat.read(place / "ps1.ipynb", 4)
    code = ["import course_pkg, pathlib", f"assert {str(tmp_path)!r} in course_pkg.__file__"]
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        is_first = cell.id.startswith("ps1_count_ngrams")
        if not cell.metadata.get("nbgrader") or cell.id == "ps1_imports" or is_first:
            code.append(solution[cell.id] if is_answer(cell) else cell.source)
        if cell.id == "ps1_count_ngrams":
            break
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lm"), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", "\n".join(code)]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert "All visible tests passed." in done.stdout, done.stderr


def test_newer_edition_unpacked_over_an_older_one_keeps_what_a_student_wrote(edition, tmp_path):
    """Against the README's advice, and with Python's standard library alone."""
    with zipfile.ZipFile(edition[1]) as packed:
        packed.extractall(tmp_path)
    place = tmp_path / "lm"
    assert "python work.py" in (place / "README.md").read_text("utf-8")
    command = [sys.executable, "-S", str(place / "work.py")]
    run = lambda: subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: E731
    said = run().stdout.replace(os.sep, "/")
    assert "ps2: put into work/ps2/ps2.ipynb" in said and "put into work/AGENTS.md" in said
    mine = place / "work" / "ps2" / "ps2.ipynb"
    stub = "raise NotImplementedError()"
    mine.write_text(mine.read_text("utf-8").replace(stub, "return 'my own'", 1), "utf-8")
    written = mine.read_bytes()
    with zipfile.ZipFile(edition[1]) as packed:
        packed.extractall(tmp_path)
    assert "as you left them" in run().stdout and mine.read_bytes() == written
    newer = place / "problem_sets" / "ps2" / "ps2.ipynb"
    notebook = json.loads(newer.read_text("utf-8"))
    cell = next(c for c in notebook["cells"] if any("Contract" in line for line in c["source"]))
    cell["source"] = [line.replace("Contract", "The contract") for line in cell["source"]]
    cell["id"] = f"{cell['id'][:9]}{text_digest(''.join(cell['source']))}"  # as a release has it
    newer.write_text(json.dumps(notebook), "utf-8")
    assert "ps2: a newer release came in, and 1 answer" in run().stdout
    text = mine.read_text("utf-8")
    assert "return 'my own'" in text and "The contract" in text
    assert [kept.read_bytes() for kept in mine.parent.glob("ps2-*.ipynb")] == [written]


def test_what_a_newer_edition_has_no_more_goes_unless_a_student_has_changed_it(made, tmp_path):
    """By the README's own commands: whatever else lies in the folder stays."""
    place = tmp_path / "lm"
    dropped = {"course_pkg/old/__init__.py": b"OLD = 1\n", "chapters/old.ipynb": b"{}"}
    dropped |= {"chapters/run.ipynb": b"{}", "README.md": b"# Older\n"}
    older = {path: made.files[path] for path in ("README.md", "work.py", "LICENSE")} | dropped
    needed = {path: data for path, data in made.files.items() if not path.startswith("course_pkg")}
    unpack(place, older | lists(older))
    (place / "course_pkg" / "old" / "__pycache__").mkdir()
    (place / "chapters" / "run.ipynb").write_text("with my outputs")
    (place / "chapters" / "mine.ipynb").write_text("my own")
    unpack(place, needed)
    command = [sys.executable, "-S", "work.py"]
    said = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout
    assert "2 files of an earlier edition deleted" in said
    assert "chapters/run.ipynb: not in this edition any more; it stays" in said
    assert not (place / "course_pkg" / "old").exists()
    assert {path.name for path in (place / "chapters").iterdir()} >= {"run.ipynb", "mine.ipynb"}
    assert not (place / "chapters" / "old.ipynb").exists()
    assert (place / "README.md").read_bytes() == made.files["README.md"]
    again = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout
    assert "edition" not in again
    (place / "chapters" / "mine.ipynb").write_text("more of my own")
    (place / "LICENSE").write_text("with a note of mine")
    assert "`python work.py lm-spring.zip`" in (place / "README.md").read_text("utf-8")
    with zipfile.ZipFile(tmp_path / "lm-spring.zip", "w") as archive:
        files = {path: data for path, data in needed.items() if not path.startswith(LISTS)}
        files |= {"LICENSE": b"of the spring"}
        for path, data in (files | lists(files)).items():
            archive.writestr(f"lm/{path}", data)
    words = [*command[:-1], "lm/work.py", "lm-spring.zip"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "LICENSE: you had changed it; as it was, it is LICENSE-" in said
    assert [kept.read_text() for kept in place.glob("LICENSE-*")] == ["with a note of mine"]
    assert (place / "LICENSE").read_bytes() == b"of the spring"


def unpack(place, files):
    for path, data in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(data)


def test_readme_and_rules_name_what_is_there(edition):
    folder, _ = edition
    readme = (folder / "README.md").read_text("utf-8")
    for place in ("problem_sets/", "course_pkg/", "AGENTS.md", "book/sources/"):
        assert f"`{place}`" in readme and (folder / place).exists()
    rules = (folder / "AGENTS.md").read_text("utf-8")
    assert "YOUR CODE HERE" in rules and "YOUR ANSWER HERE" in rules
    for name in COURSE.sets():
        text = (folder / "problem_sets" / name / f"{name}.ipynb").read_text("utf-8")
        first = json.loads(text)["cells"][0]["source"]
        assert COURSE.assistants(name) in "".join(first)
        assert "YOUR CODE HERE" in text
