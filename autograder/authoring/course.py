"""Find a course folder and load its problem sets.

A course is a folder with one folder for each problem set. In it lie `notebook.py` (the notebook as
text), `problem_set.py` (which defines `PROBLEM_SET`) and whatever that imports, as a rule one file
for each graded item; in `files/` what students get beside the notebook. A course is found and
loaded by path, so the grader depends on none.
"""

import hashlib
import importlib
import os
import re
import sys
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NoReturn

from autograder.authoring.assistant_rules import RULES
from autograder.authoring.checks import ProblemSet
from autograder.authoring.notebooks import NBGRADER_SETTINGS, assignment_and_notebook
from autograder.handed_out import FOLDER, beside, read_files
from autograder.records import CheckFault, GraderError

COURSE_VARIABLE = "AUTOGRADER_COURSE"
SETTINGS = "course.toml"
_ASSISTANTS = (
    "Let one explain, question and check, but not write: the code and the words of each answer are "
    "your own."
)
_PLAIN_PATH = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
_SET_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Course:
    """A folder of problem sets.

    Attributes:
        by_hand: test cells that are left to people, as (set, cell, why).
        has_checks: whether checks judge its sets; else the notebooks' own test cells do.
    """

    folder: Path
    by_hand: tuple[tuple[str, str, str], ...] = ()
    has_checks: ClassVar[bool] = True

    def sets(self) -> tuple[str, ...]:
        """Names of all problem sets, in order."""
        names = (path.parent.name for path in self.folder.glob("*/notebook.py"))
        return tuple(sorted(name for name in names if _SET_NAME.fullmatch(name)))

    def of_assignment(self, assignment: str) -> tuple[str, ...]:
        """Names of the sets that are handed out as one assignment: each is one."""
        return (assignment,)

    def others_files(self, name: str) -> frozenset[str]:
        """Names of the files that are other notebooks of the assignment that a set is of."""
        assignment, own = assignment_and_notebook(name)
        notebooks = {assignment_and_notebook(one)[1] for one in self.of_assignment(assignment)}
        return frozenset(f"{notebook}.ipynb" for notebook in notebooks - {own})

    def source(self, name: str) -> Path:
        """Path of a set's notebook source.

        Raises:
            GraderError: if the course has no such set; the message lists those it has.
        """
        if name not in self.sets():
            known = ", ".join(self.sets()) or "none"
            raise GraderError(f"no problem set {name!r} in {self.folder}; it has: {known}")
        return self.folder / name / "notebook.py"

    def package_address(self) -> str:
        """What `pip install` takes for the course's own package, as `course.toml` states it.

        Empty if it says nothing: then students have the package's file beside the notebook.

        Raises:
            GraderError: if the file cannot be read, or the address is no single line of text.
        """
        address = self.settings("package").get("address", "")
        if not isinstance(address, str) or not address.isprintable():
            self.refuse("package.address", address, "it must be a line of text")
        return address.strip()

    def assistants(self, name: str) -> str:
        """What students may have an assistant do in a set, in one sentence.

        Raises:
            GraderError: if `course.toml` cannot be read, or states no line of text.
        """
        settings = self.settings("assistants")
        key = name if name in settings else "rule"
        rule = settings.get(key, _ASSISTANTS)
        if not isinstance(rule, str) or not rule.strip() or not rule.isprintable():
            self.refuse(f"assistants.{key}", rule, "it must be a sentence on one line")
        return rule.strip()

    @property
    def own_edition(self) -> Path:
        """The folder of what only students read."""
        return self.folder / "edition"

    @property
    def rules(self) -> Path:
        """What the course asks of code assistants; it need not be there."""
        return self.own_edition / RULES

    def edition(self) -> dict[Path, str]:
        """What students get beside the notebooks: each file or folder, and its place there.

        Raises:
            GraderError: if `course.toml` cannot be read, or a path leads out of the course or into
                the folder of its sets.
        """
        chosen = self.settings("edition")
        targets = {}
        for source, target in chosen.items():
            path = (self.top / source).resolve()
            inside = path.is_relative_to(self.top.resolve()) and path != self.top.resolve()
            if not inside or path.is_relative_to(self.folder.resolve()):
                rule = f"it must lie in {self.top}, outside {self.folder.name}"
                self.refuse(f"edition.{source}", source, rule)
            if not isinstance(target, str) or not _PLAIN_PATH.fullmatch(target):
                rule = "it must be a path within the edition, as book/pages"
                self.refuse(f"edition.{source}", target, rule)
            targets[path] = target
        return targets

    def leaderboard(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """Sets whose leaderboard is switched on, and the names on it that an instructor chose.

        Raises:
            GraderError: if `course.toml` cannot be read, or names no set of this course.
        """
        settings = self.settings("leaderboard")
        switched_on, names = settings.get("sets", []), settings.get("names", {})
        known = self.sets()
        if not isinstance(switched_on, list) or any(name not in known for name in switched_on):
            rule = f"it must be a list of these: {', '.join(known)}"
            self.refuse("leaderboard.sets", switched_on, rule)
        if not isinstance(names, dict) or not all(isinstance(n, str) for n in names.values()):
            self.refuse("leaderboard.names", names, "it must be a table of texts")
        normal = {unicodedata.normalize("NFC", student): name for student, name in names.items()}
        return tuple(switched_on), normal

    def settings(self, key: str) -> dict[str, Any]:
        """Return a table of `course.toml`; it is empty where the file has none.

        Raises:
            GraderError: if the file cannot be read, or has something else there.
        """
        path = self.folder / SETTINGS
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8")).get(key, {})
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise GraderError(f"{path} cannot be read: {error}") from None
        if not isinstance(table, dict):
            self.refuse(key, table, "it must be a table")
        return table

    def refuse(self, key: str, value: object, rule: str) -> NoReturn:
        """Say which value of `course.toml` breaks which rule."""
        raise GraderError(f"{self.folder / SETTINGS}: {key} is {value!r}; {rule}")

    def check_files(self, name: str) -> tuple[Path, ...]:
        """Files whose text decides how a set is judged and which mistake is recognised.

        They are those in the set's folder but its notebook, its tests, what is handed out and the
        answers to try, and those that lie beside the folders of the sets. Of the answers, those to
        a function that students judge (`judge_<function>.py`) decide, too.
        """
        files = {*self.folder.glob(f"{name}/**/*.py"), *self.folder.glob("*.py")}
        files -= set(self.folder.glob(f"{name}/{FOLDER}/**/*.py"))
        files -= {self.source(name), self.folder / NBGRADER_SETTINGS}
        tried = set(self.folder.glob(f"{name}/answers/**/*.py"))
        files -= {path for path in tried if not (path.parents[1] / f"judge_{path.name}").is_file()}
        return tuple(sorted(path for path in files if not path.name.startswith("test_")))

    @property
    def top(self) -> Path:
        """Where what belongs to the course lies: its class, and a student's workspace."""
        return self.folder.parent if self.folder.name == "assignments" else self.folder

    def folders(self) -> tuple[Path, ...]:
        """Folders that student code must not see."""
        return (self.folder,)

    def submitted(self) -> Path | None:
        """Folder in which submissions lie unless another is named; None if there is none."""
        return None

    def own_results(self) -> tuple[Path, str] | None:
        """Output folder and gradebook's address unless others are named; None if it has none."""
        return None

    def output(self, step: str, out: Path) -> Path:
        """Folder of "autograded" or "feedback", of a class whose output folder is `out`."""
        return out / step

    def is_groupshared(self) -> bool:
        """Whether what is written belongs to the group, too."""
        return False

    def problem_set(self, name: str) -> ProblemSet:
        """Load `<set>/problem_set.py`.

        Raises:
            GraderError: if there is no such set or file.
            CheckFault: if the file cannot be imported or defines no `PROBLEM_SET` of that name.
        """
        path = self.source(name).with_name("problem_set.py")
        if not path.is_file():
            raise GraderError(f"{name} has no checks: {path} does not exist")
        module = f"{self._package()}.{name}.problem_set"
        files = {} if module in sys.modules else read_files(path.with_name(FOLDER))
        try:
            with beside(files):
                loaded = importlib.import_module(module)
        except Exception as error:
            raise CheckFault(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
        problem_set = getattr(loaded, "PROBLEM_SET", None)
        if not isinstance(problem_set, ProblemSet):
            raise CheckFault(f"{path} must define PROBLEM_SET, a ProblemSet")
        if problem_set.name != name:
            raise CheckFault(f"{path} defines the problem set {problem_set.name!r}")
        return problem_set

    def _package(self) -> str:
        """Return a package that stands for this folder alone: two courses may each have a `ps1`."""
        name = "_course_" + hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]
        if name not in sys.modules:
            package = ModuleType(name, f"The problem sets in {self.folder}.")
            package.__path__ = [str(self.folder)]
            sys.modules[name] = package
        return name


_STEPS = ("source", "source_with_tests", "submitted", "autograded", "feedback", "solution")


@dataclass(frozen=True)
class NbgraderCourse(Course):
    """A course as nbgrader keeps it: `source/<assignment>/<notebook>.ipynb`, and no checks.

    A set is one notebook, named as `autograder.authoring.notebooks.assignment_and_notebook` says.
    Folders are named as the course's own `nbgrader_config.py` says, and nbgrader itself may grade
    it, too, into the same gradebook.
    """

    has_checks: ClassVar[bool] = False

    def sets(self) -> tuple[str, ...]:
        """Names of all notebooks, in order."""
        return tuple(sorted(self._sources()))

    def of_assignment(self, assignment: str) -> tuple[str, ...]:
        """Names of the notebooks of an assignment, in order.

        Raises:
            GraderError: if there is no such assignment; the message lists those that there are.
        """
        of = {name: assignment_and_notebook(name)[0] for name in self.sets()}
        notebooks = tuple(name for name in of if assignment in (name, of[name]))
        if not notebooks:
            known = ", ".join(dict.fromkeys(of.values()))
            source = self.place("source")
            raise GraderError(f"no assignment {assignment!r} in {source}; it has: {known}")
        return notebooks

    def source(self, name: str) -> Path:
        """Path of a set's source notebook.

        Where nbgrader itself has to make the tests of it (`AUTOTEST` lines), that is the notebook
        that `nbgrader generate_assignment --source_with_tests` made, if it is not older.

        Raises:
            GraderError: if the course has no such notebook; the message lists those it has.
        """
        sources = self._sources()
        if name not in sources:
            known = ", ".join(sorted(sources))
            raise GraderError(f"no notebook {name!r} in {self.place('source')}; it has: {known}")
        path = sources[name]
        made = self.place("source_with_tests") / path.parent.name / path.name
        if made.is_file() and made.stat().st_mtime >= path.stat().st_mtime:
            from autograder.authoring.nbgrader_settings import autotest_mark

            if autotest_mark(self.folder) in path.read_text(encoding="utf-8", errors="replace"):
                return made
        return path

    def place(self, step: str) -> Path:
        """Folder of what nbgrader calls a step: "source", "submitted", "autograded", "feedback"."""
        # nbgrader takes long to import, and only such a course needs it here.
        from autograder.authoring.nbgrader_settings import course_directory

        name: str = getattr(course_directory(self.folder), f"{step}_directory")
        return self.folder / name

    def check_files(self, name: str) -> tuple[Path, ...]:
        """Return no files: the tests stand in the source notebook."""
        return ()

    def folders(self) -> tuple[Path, ...]:
        """Return the course's folder, and those of its steps, which may lie elsewhere."""
        from autograder.authoring.nbgrader_settings import exchange_folder

        exchange = exchange_folder(self.folder)
        handed_in = (exchange,) if exchange.is_dir() else ()
        return (self.folder, *(self.place(step) for step in _STEPS), *handed_in)

    def submitted(self) -> Path:
        """Return the folder into which nbgrader collects."""
        return self.place("submitted")

    def own_results(self) -> tuple[Path, str]:
        """Return the course's folder and nbgrader's gradebook."""
        from autograder.authoring.nbgrader_settings import gradebook_address

        return self.folder, gradebook_address(self.folder)

    def output(self, step: str, out: Path) -> Path:
        """Return the folder under the name that the course gives it.

        It may lie elsewhere, if the course's settings say so; but a trial with another output
        folder stays in that.
        """
        place = Path(os.path.normpath(self.place(step)))
        if place.is_relative_to(self.folder):
            return out / place.relative_to(self.folder)
        return place if out == self.folder else out / step

    def is_groupshared(self) -> bool:
        """Return nbgrader's setting of that name."""
        from autograder.authoring.nbgrader_settings import course_directory

        return bool(course_directory(self.folder).groupshared)

    def _sources(self) -> dict[str, Path]:
        sources = {}
        for path in self.place("source").glob("*/*.ipynb"):
            assignment, notebook = path.parent.name, path.stem
            if not assignment.startswith(".") and not notebook.startswith("."):
                same = assignment == notebook
                sources[assignment if same else f"{assignment}+{notebook}"] = path
        return sources


def nbgrader_course_in(folder: Path) -> NbgraderCourse:
    """Return the course for nbgrader that lies in a folder.

    Raises:
        GraderError: if none does; says what is missing.
    """
    course = NbgraderCourse(folder.resolve())
    if not course.sets():
        missing = f"{course.place('source').name}/<assignment>/<notebook>.ipynb"
        raise GraderError(f"{course.folder} is not a course for nbgrader: it has no {missing}")
    return course


def find_course_with_checks(folder: Path | None = None) -> Course:
    """Return the course, as `find_course` does, if its sets have checks.

    Raises:
        GraderError: if there is none, or it is one for nbgrader alone.
    """
    course = find_course(folder)
    if not course.has_checks:
        raise GraderError(
            f"{course.folder} is a course for nbgrader, whose sets have no checks; "
            "`autograder grade --nbgrader` runs its tests as they are, and `autograder adopt` "
            "makes checks of them"
        )
    return course


def course_for_new_sets(folder: Path | None = None) -> Course:
    """Return the course into which a new set goes; where there is none yet, one is begun.

    Without a folder: the course that the surroundings name, or else `assignments/` in the working
    folder.

    Raises:
        GraderError: if the surroundings are a course for nbgrader alone.
    """
    named = folder or os.environ.get(COURSE_VARIABLE)
    if named is not None:
        return Course(Path(named).resolve())
    try:
        course = find_course()
    except GraderError:
        return Course(Path.cwd() / "assignments")
    if not course.has_checks:
        raise GraderError(
            f"{course.folder} is a course for nbgrader, and sets with checks are a course of their "
            "own: type this in another folder, or name one with --course"
        )
    return course


def find_course(folder: Path | None = None) -> Course:
    """Return the course in `folder`, or else the one that the surroundings name.

    Without a folder: the one in the environment variable AUTOGRADER_COURSE, or `assignments/` in
    the working folder or the nearest folder above it that has one; or else such a folder itself, if
    it is a course for nbgrader.

    Raises:
        GraderError: if there is none; says where it looked.
    """
    named = folder or os.environ.get(COURSE_VARIABLE)
    if named is not None:
        path = Path(named).resolve()
        for kind in (Course, NbgraderCourse):
            if kind(path).sets():
                return kind(path)
        raise GraderError(
            f"{path} is not a course folder: no folder in it has a notebook.py, and it has no "
            "source/<assignment>/<notebook>.ipynb, as a course for nbgrader has"
        )
    here = Path.cwd()
    for above in (here, *here.parents):
        course = Course(above / "assignments")
        if course.sets():
            return course
        if _is_written_for_nbgrader(above):
            return NbgraderCourse(above)
    raise GraderError(
        f"no course found: neither {here} nor a folder above it has assignments/<set>/notebook.py, "
        "or source/<assignment>/<notebook>.ipynb as a course for nbgrader has; name the folder "
        f"with --course or {COURSE_VARIABLE}"
    )


def _is_written_for_nbgrader(folder: Path) -> bool:
    """Whether a folder is a course for nbgrader: not one that a release of ours has filled."""
    if not (folder / "nbgrader_config.py").exists() and not (folder / "source").is_dir():
        return False  # without loading nbgrader for each folder
    from autograder.authoring.fingerprints import is_made_by_release

    course = NbgraderCourse(folder)
    sources = map(course.source, course.sets())
    return any(not is_made_by_release(path.read_bytes()) for path in sources)
