"""Find a course folder and load its problem sets.

A course is a folder with one folder for each problem set. In it lie `notebook.py` (the notebook as
text), `problem_set.py` (which defines `PROBLEM_SET`) and whatever that imports, as a rule one file
for each graded item. A course is found and loaded by path, so the grader depends on none.
"""

import hashlib
import importlib
import os
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from autograder.authoring.checks import ProblemSet
from autograder.records import CheckFault, GraderError

COURSE_VARIABLE = "AUTOGRADER_COURSE"
SETTINGS = "course.toml"
_SET_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Course:
    """A folder of problem sets."""

    folder: Path

    def sets(self) -> tuple[str, ...]:
        """Names of all problem sets, in order."""
        names = (path.parent.name for path in self.folder.glob("*/notebook.py"))
        return tuple(sorted(name for name in names if _SET_NAME.fullmatch(name)))

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
        path = self.folder / SETTINGS
        try:
            package = tomllib.loads(path.read_text(encoding="utf-8")).get("package", {})
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise GraderError(f"{path} cannot be read: {error}") from None
        if not isinstance(package, dict):
            raise GraderError(f"{path}: package is {package!r}; it must be a table")
        address = package.get("address", "")
        if not isinstance(address, str) or not address.isprintable():
            raise GraderError(f"{path}: package.address is {address!r}; it must be a line of text")
        return address.strip()

    def check_files(self, name: str) -> tuple[Path, ...]:
        """Files whose text decides how a set is judged and which mistake is recognised.

        They are those in the set's folder but its notebook, its tests and the answers of others,
        and those that lie beside the folders of the sets.
        """
        files = {*self.folder.glob(f"{name}/**/*.py"), *self.folder.glob("*.py")}
        files -= {self.source(name), self.folder / "nbgrader_config.py"}
        files -= set(self.outside(name).rglob("*.py"))
        return tuple(sorted(path for path in files if not path.name.startswith("test_")))

    def outside(self, name: str) -> Path:
        """Folder of the answers to a set that are not by the author of its checks."""
        return self.folder / name / "outside"

    def problem_set(self, name: str) -> ProblemSet:
        """Load `<set>/problem_set.py`.

        Raises:
            GraderError: if there is no such set or file.
            CheckFault: if the file cannot be imported or defines no `PROBLEM_SET` of that name.
        """
        path = self.source(name).with_name("problem_set.py")
        if not path.is_file():
            raise GraderError(f"{name} has no checks: {path} does not exist")
        try:
            module = importlib.import_module(f"{self._package()}.{name}.problem_set")
        except Exception as error:
            raise CheckFault(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
        found = getattr(module, "PROBLEM_SET", None)
        if not isinstance(found, ProblemSet):
            raise CheckFault(f"{path} must define PROBLEM_SET, a ProblemSet")
        if found.name != name:
            raise CheckFault(f"{path} defines the problem set {found.name!r}")
        return found

    def _package(self) -> str:
        """Return the name of a package that stands for the folder, making it when first asked.

        Two courses may each have a `ps1`, so the package's name is made from the folder's path.
        """
        name = "_course_" + hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]
        if name not in sys.modules:
            package = ModuleType(name, f"The problem sets in {self.folder}.")
            package.__path__ = [str(self.folder)]
            sys.modules[name] = package
        return name


def find_course(folder: Path | None = None) -> Course:
    """Return the course in `folder`, or else the one that the surroundings name.

    Without a folder: the one in the environment variable AUTOGRADER_COURSE, or `assignments/` in
    the working folder or the nearest folder above it that has one.

    Raises:
        GraderError: if there is none; says where it looked.
    """
    named = folder or os.environ.get(COURSE_VARIABLE)
    if named is not None:
        path = Path(named).resolve()
        if not Course(path).sets():
            raise GraderError(f"{path} is no course folder: no folder in it has a notebook.py")
        return Course(path)
    here = Path.cwd()
    for above in (here, *here.parents):
        course = Course(above / "assignments")
        if course.sets():
            return course
    raise GraderError(
        f"no course found: neither {here} nor a folder above it has assignments/<set>/notebook.py; "
        f"name the folder with --course or {COURSE_VARIABLE}"
    )
