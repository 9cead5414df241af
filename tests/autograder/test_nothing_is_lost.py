"""Whatever is done in whatever order, and breaks off wherever: answers and grades are found again.

A student and an instructor share a tree, as one who learns and teaches may. Each order of steps is
drawn from a seed: commands as the Makefile has them, answers written where people write them, newer
releases, what an older version left behind; and each may be killed, or meet a full disk, at any
moment at which it writes.
"""

import errno
import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import partial
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
from autograder.store.class_folder import CLASS, LEGACY, holds_class
from autograder.store.gradebook import Gradebook
from autograder.store.journal import Journal
from tests.autograder import nbgrader_course

ROOT = Path(__file__).parents[2]
REAL = ROOT / "assignments"
N_STEPS = 14
# All by which files come, change and go. At each of them a run may break off.
WRITES = [(os, name) for name in ("fsync", "replace", "rename", "unlink", "rmdir", "chmod")]
WRITES += [(shutil, "rmtree")]
# Commands that no step types; a new command is in a step, or here for a reason.
NOT_WALKED = {
    "written": "serves pages until Ctrl-C; test_written.py holds what it saves",
    "check": "writes nothing",
    "doctor": "writes nothing",
    "forecast": "writes nothing",
    "formgrader": "a server; writes as `release` does, and only where nothing is: see test_cli.py",
}


def recipe(*targets: str) -> str:
    """What make would run."""
    command = ["make", "-n", "-o", ".venv/installed", "VENV=.venv", *targets]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout


RECIPES = {name: recipe(name) for name in ("lab", "release", "course", "clean", "distclean")}


def test_recipes_run_what_is_tested_here():
    assert "-m autograder work" in RECIPES["lab"]
    assert "-m autograder release --all" in RECIPES["course"]
    assert "-m autograder grade $set --submissions _build/sample_class" in RECIPES["course"]
    for name in ("clean", "distclean"):
        assert "-m autograder.class_run.build_folder _build" in RECIPES[name]
    # Of what stands at the top, make deletes by name what tools of its own have put there.
    text = (ROOT / "Makefile").read_text() + "".join(RECIPES.values())
    removed = " ".join(re.findall(r"\brm -rf ([^\n;#|&]*)", text)).split()
    assert {name for name in removed if not name.startswith(("_build/", "$"))} == {
        *(".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
        *(".import_linter_cache", ".coverage", "language_models_by_hand.egg-info"),
    }


class Tree:
    """A course with a student's and an instructor's folder, and what must be found in it."""

    def __init__(self, top: Path, toys, seed: int) -> None:
        self.top, self.toys = top, toys
        self.course = toys.make_course(top / "assignments")
        (self.course.folder / "edition").mkdir()
        for name in ("README.md", "AGENTS.md"):
            (self.course.folder / "edition" / name).write_text(f"# {name}\n")
        (top / "other" / "assignments").mkdir(parents=True)
        self.draw = random.Random(seed)
        self.answers: set[str] = set()  # everything that was written and not deleted by its author
        self.grades: dict[str, float] = {}
        self.by_hand: dict[str, float] = {}
        self.notes: dict[Path, str] = {}  # files that people changed where commands had written
        self.n = 0
        self.told: list[str] = []
        self.typed: set[str] = set()  # commands

    # ---------------------------------------------------------------- commands
    def type(self, *words: str) -> int:
        result = CliRunner().invoke(main, words)
        self.typed |= main.commands.keys() & set(words)
        self.told.append(f"{shlex.join(words)} -> {result.exit_code}: {result.output}")
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        return result.exit_code

    def make(self, target: str) -> None:
        """Run the recipe's own commands on this course; Jupyter and the book are left out."""
        text = RECIPES[target].replace("$set", "toy").replace("\\\n", "")
        runs = r"-m (autograder[\w.]*) ([^|;\n)]*)|^rm -rf (.*)$|(sample_class/make\.py)"
        for module, words, removed, sample in re.findall(runs, text, flags=re.MULTILINE):
            if sample:
                self.write_submissions(Path("_build/sample_class/submitted/toy"), ["perfect"])
            elif removed:
                subprocess.run(["bash", "-c", f"rm -rf {removed}"], check=True)
            elif module == "autograder":
                if self.type(*shlex.split(words)) == 1:
                    return  # as make does
            else:
                try:
                    self.told += empty(Path(words.split()[0]))
                except OSError as error:
                    self.told.append(str(error))
                    return

    # ---------------------------------------------------------------- what people do
    def lab(self) -> None:
        self.make("lab")

    def release(self) -> None:
        self.make("release")

    def make_course(self) -> None:
        self.make("course")

    def clean(self) -> None:
        self.make("clean")

    def distclean(self) -> None:
        self.make("distclean")

    def mine(self) -> None:
        if copy_of("toy", Path("work")).exists():
            self.type("mine", "toy", "--no-open")

    def edition(self) -> None:
        self.type("edition", "--out", "for_students")

    def feedback(self) -> None:
        self.type("feedback", "toy", "--to", self.draw.choice(["mail", "moodle", "canvas"]))

    def new_set(self) -> None:
        self.type("--course", "other/assignments", "new", "extra")

    def adopt(self) -> None:
        if not Path("for_nbgrader").exists():
            nbgrader_course.make_course(Path("for_nbgrader"))
        self.type("--course", "other/assignments", "adopt", "hw1", "--nbgrader", "for_nbgrader")

    def syllabus(self) -> None:
        """Make hand-outs of the real course: the toy has no calendar."""
        out = ("--no-pdf", "--out", "handouts")
        self.type("--course", str(REAL), "syllabus", "--calendar", "10", *out)

    def cartridge(self) -> None:
        calendar = ("--calendar", "workshop", "--out", "handouts")
        self.type("--course", str(REAL), "cartridge", *calendar)

    def exam(self) -> None:
        out = ("--no-pdf", "--out", "handouts")
        self.type("--course", str(REAL), "exam", "--minutes", "10", "--chapters", "1", *out)

    def gradescope(self) -> None:
        self.type("gradescope", "toy", "--out", "handouts")

    def look(self) -> None:
        """Ask for all that is made of what was graded."""
        for command in ("dashboard", "similarity", "leaderboard", "export"):
            self.type(command, "toy")
        self.type("explain", "toy", "student1")

    def release_elsewhere(self) -> None:
        self.type("release", "toy", "--out", "handed_out")

    def work_elsewhere(self) -> None:
        self.type("work", "--from", "handed_out/release", "--work", "elsewhere")

    def write_note(self) -> None:
        """Change a file that a command has made, in a place that is not for what is built."""
        made = ["for_students/README.md", "work/AGENTS.md", "handouts/*.md"]
        made.append("other/assignments/*/notebook.py")
        places = sorted(path for pattern in made for path in Path().glob(pattern))
        if places:
            path, self.n = self.draw.choice(places), self.n + 1
            path.write_text(f"{path.read_text()}\n# written_{self.n}\n")
            self.notes[path] = path.read_text()

    def write_answer(self) -> None:
        """Write in the workspace, or where older versions sent students."""
        copies = [copy_of("toy", self.top / "work"), copy_of("toy", self.top / LEGACY / "release")]
        versions = ("release", "solution")
        copies += [copy_of("toy", self.top / "handed_out" / version) for version in versions]
        paths = [path for path in copies if path.exists()]
        if not paths:
            return
        path, self.n = self.draw.choice(paths), self.n + 1
        notebook, token = read_notebook(path.read_bytes()), f"written_{self.n}"
        places = [
            n for n, c in enumerate(notebook["cells"]) if c["id"].endswith(("answer", "essay"))
        ]
        if self.draw.random() < 0.6:
            cell = notebook["cells"][self.draw.choice(places)]
            deleted = re.findall(r"written_\d+", cell["source"])
            others = self.text_outside(path) + "".join(
                other["source"] for other in notebook["cells"] if other is not cell
            )
            self.answers -= {old for old in deleted if not re.search(rf"{old}\b", others)}
            cell["source"] = f"def double(numbers): {token}"
        else:
            cell = {"cell_type": "code", "metadata": {}, "source": token, "id": f"own{self.n}"}
            cell |= {"outputs": [], "execution_count": None}
            notebook["cells"].insert(self.draw.randrange(len(notebook["cells"]) + 1), cell)
        path.write_text(json.dumps(notebook))
        self.answers.add(token)

    def newer_release(self) -> None:
        source = self.course.source("toy")
        text, self.n = source.read_text(), self.n + 1
        old, new = self.draw.choice(
            [
                ("# Write two functions.", f"# Write two functions, {self.n}."),
                ('"""Double every number.', f'"""Double every number. {self.n}'),
                ("# ## 2. Mean", f"# {self.n}\n\n# %% [markdown]\n# ## 2. Mean"),
            ]
        )
        source.write_text(text.replace(old, new, 1))

    def write_submissions(self, folder: Path, students: list[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for student in students:
            notebook = self.toys.answer(self.course, double=self.toys.double)
            (folder / f"{student}.ipynb").write_text(as_text(notebook))

    def grade(self) -> None:
        self.n += 1
        student = f"student{self.n}"
        handed_in = self.top.parent / f"{self.top.name}-handed-in-{self.n}"
        self.write_submissions(handed_in, [student])
        if self.type("grade", "toy", "--submissions", str(handed_in)) == 0:
            self.grades[student] = 60.0

    def grade_by_hand(self) -> None:
        book = self.top / CLASS / "gradebook.db"
        if not self.grades or not book.exists():
            return
        student = self.draw.choice(sorted(self.grades))
        with Gradebook(f"sqlite:///{book}") as opened:
            submission = opened._book.find_submission_notebook("toy", "toy", student)
            grade = next(one for one in submission.grades if one.name == "toy_essay")
            grade.manual_score = 7.0
            opened._book.db.commit()
        self.by_hand[student] = 7.0

    def older_version(self) -> None:
        """Put the class where an older version had it."""
        if holds_class(self.top / CLASS) and not holds_class(self.top / LEGACY):
            shutil.rmtree(
                self.top / LEGACY, ignore_errors=True
            ) if not self.text_in_legacy() else None
            if not (self.top / LEGACY).exists():
                LEGACY.parent.mkdir(exist_ok=True)
                os.rename(self.top / CLASS, self.top / LEGACY)

    def text_in_legacy(self) -> bool:
        release = self.top / LEGACY / "release"
        return any("written_" in path.read_text() for path in release.rglob("*.ipynb"))

    # ---------------------------------------------------------------- what must be found
    def text_outside(self, but: Path | None = None) -> str:
        """All that stands in notebooks where a student may have written."""
        found = [
            *self.top.glob("work/**/*"),
            *self.top.glob("*/*/release/**/*"),
            *self.top.glob("*/*/kept/**/*"),
            *self.top.glob("*/kept/**/*"),
            *self.top.glob("class/release/**/*"),
            *self.top.glob("handed_out/**/*.ipynb"),
            *self.top.glob("elsewhere/**/*"),
        ]
        # A page of feedback quotes an answer that its author may have deleted since.
        files = [p for p in found if p.is_file() and p != but and p.suffix != ".html"]
        return "\n".join(path.read_text() for path in files)

    def check(self) -> None:
        text = self.text_outside()
        for path, note in self.notes.items():
            assert path.read_text() == note, self.told
        missing = {token for token in self.answers if not re.search(rf"{token}\b", text)}
        assert not missing, self.told
        places = [self.top / CLASS, self.top / LEGACY]
        classes = [place for place in places if holds_class(place)]
        assert len(classes) == 1 or not self.grades, (classes, self.told)
        for student, points in self.grades.items():
            record = Journal(classes[0], "toy").read(student)
            assert record is not None and record.grade.points == points, self.told
            Journal(classes[0], "toy").submission(student, record.grade.sha256)
        if self.by_hand:
            with Gradebook(f"sqlite:///{classes[0] / 'gradebook.db'}") as book:
                given = book.hand_grades("toy")
            assert {s: given[s]["toy_essay"].points for s in self.by_hand} == self.by_hand


STEPS = {
    Tree.lab: 4,
    Tree.release: 2,
    Tree.make_course: 1,
    Tree.clean: 2,
    Tree.distclean: 1,
    Tree.write_answer: 6,
    Tree.newer_release: 3,
    Tree.grade: 2,
    Tree.grade_by_hand: 1,
    Tree.older_version: 1,
    Tree.mine: 1,
    Tree.edition: 1,
    Tree.feedback: 1,
    Tree.new_set: 1,
    Tree.adopt: 1,
    Tree.syllabus: 1,
    Tree.cartridge: 1,
    Tree.exam: 1,
    Tree.gradescope: 1,
    Tree.look: 1,
    Tree.release_elsewhere: 1,
    Tree.work_elsewhere: 1,
    Tree.write_note: 2,
}
BY_PEOPLE = {Tree.write_answer, Tree.newer_release, Tree.grade_by_hand, Tree.older_version}
COMMANDS = STEPS.keys() - BY_PEOPLE - {Tree.write_note}


def disturbed(step: Callable[[], None], n_th: int, happens: Callable[[], None]) -> None:
    """Let something happen when a step writes for the n-th time."""
    counted = itertools.count(1)

    def watched(real):
        def write(*args, **named):
            if next(counted) == n_th:
                happens()
            return real(*args, **named)

        return write

    with pytest.MonkeyPatch.context() as patch:
        for module, name in WRITES:
            patch.setattr(module, name, watched(getattr(module, name)))
        step()


def disk_is_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")


def killed(step: Callable[[], None], n_th: int) -> None:
    """Run a step in a process of its own, and kill that when it writes for the n-th time."""
    pid = os.fork()
    if pid == 0:
        try:
            disturbed(step, n_th, lambda: os.kill(os.getpid(), signal.SIGKILL))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def walk(tree: Tree) -> None:
    """Take some steps, undisturbed or not, and look each time whether all is there."""
    for _ in range(N_STEPS):
        (step,) = tree.draw.choices(list(STEPS), list(STEPS.values()))
        fate, n_th = tree.draw.random(), tree.draw.randint(1, 12)
        if step not in COMMANDS or fate < 0.4:
            tree.told.append(step.__name__)
            step(tree)
        elif fate < 0.7:
            tree.told.append(f"{step.__name__}, killed at write {n_th}")
            killed(partial(step, tree), n_th)
        else:
            tree.told.append(f"{step.__name__}, full disk at write {n_th}")
            disturbed(partial(step, tree), n_th, disk_is_full)
        tree.check()
    # In the end, undisturbed, all is where it belongs.
    tree.lab()
    tree.check()
    places = [*tree.top.glob("work/**/*.ipynb"), *tree.top.glob("elsewhere/**/*.ipynb")]
    places += tree.top.glob("handed_out/**/*.ipynb")
    text = "\n".join(path.read_text() for path in places)
    missing = {token for token in tree.answers if not re.search(rf"{token}\b", text)}
    assert not missing, tree.told
    if tree.grades:
        assert tree.type("dashboard", "toy") == 0 and holds_class(tree.top / CLASS), tree.told
    tree.check()


EXHAUSTIVE = [pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(4, 400)]


@pytest.fixture
def grow(toys, tmp_path, monkeypatch, without_sandbox):
    """Return a function that makes a tree of a seed."""
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)  # it would name another course than this one
    monkeypatch.setattr(own_work, "OwnProcess", grader.Sandbox)  # as `without_sandbox` has it
    return lambda seed: Tree(top, toys, seed)


@pytest.mark.parametrize("seed", [*range(4), *EXHAUSTIVE])
def test_answers_and_grades_are_found_after_any_order_of_steps(seed, grow):
    walk(grow(seed))


def test_every_command_of_the_program_is_among_the_steps(grow):
    tree = grow(0)
    for step in STEPS:
        step(tree)
        tree.check()
    assert tree.typed.isdisjoint(NOT_WALKED)
    assert tree.typed | NOT_WALKED.keys() == main.commands.keys()
    made = {path.name for path in Path("handouts").iterdir() if not path.name.startswith(".")}
    assert {"syllabus-10.md", "exam-0.md", "autograder.zip"} <= made | {
        path.name for path in Path("handouts").rglob("*.zip")
    }
    assert list(Path("other/assignments").glob("*/notebook.py")), tree.told
