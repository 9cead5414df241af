"""Find a course folder and load its problem sets.

A course is a folder with `sets/<set>.py` (the notebook as text) and `checks/<set>.py` (which
defines `PROBLEM_SET`). It is found and loaded by path, so the grader depends on no course.
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
    """A folder of problem sets and their checks."""

    folder: Path

    def sets(self) -> tuple[str, ...]:
        """Names of all problem sets, in order."""
        names = (path.stem for path in self.folder.glob("sets/*.py"))
        return tuple(sorted(name for name in names if _SET_NAME.fullmatch(name)))

    def source(self, name: str) -> Path:
        """Path of a set's notebook source.

        Raises:
            GraderError: if the course has no such set; the message lists those it has.
        """
        if name not in self.sets():
            known = ", ".join(self.sets()) or "none"
            raise GraderError(f"no problem set {name!r} in {self.folder}; it has: {known}")
        return self.folder / "sets" / f"{name}.py"

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
        address = package.get("address", "") if isinstance(package, dict) else package
        if not isinstance(address, str) or not address.isprintable():
            raise GraderError(f"{path}: package.address is {address!r}; it must be a line of text")
        return address.strip()

    def check_files(self, name: str) -> tuple[Path, ...]:
        """Files whose text decides how a set is judged and which mistake is recognised.

        They are `checks/<set>.py`, `checks/<set>_*.py`, those in `checks/` and `answers/` that
        belong to no set, and, if there are any, `answers/<set>/`.
        """
        shared = [
            path
            for folder in ("checks", "answers")
            for path in self.folder.glob(f"{folder}/*.py")
            if not any(f"{path.stem}_".startswith(f"{other}_") for other in self.sets())
        ]
        answers = self.folder.glob(f"answers/{name}/**/*.py")
        parts = self.folder.glob(f"checks/{name}_*.py")
        return tuple(sorted([self.folder / "checks" / f"{name}.py", *parts, *shared, *answers]))

    def checks(self, name: str) -> ModuleType:
        """Load `checks/<set>.py`.

        Raises:
            GraderError: if there is no such set or file.
            CheckFault: if the file cannot be imported.
        """
        self.source(name)
        path = self.folder / "checks" / f"{name}.py"
        if not path.is_file():
            raise GraderError(f"{name} has no checks: {path} does not exist")
        package = self._package()
        try:
            return importlib.import_module(f"{package}.{name}")
        except Exception as error:
            raise CheckFault(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error

    def problem_set(self, name: str) -> ProblemSet:
        """Load the checks of a set.

        Raises:
            CheckFault: if `checks/<set>.py` defines no `PROBLEM_SET` of that name.
        """
        found = getattr(self.checks(name), "PROBLEM_SET", None)
        if not isinstance(found, ProblemSet):
            raise CheckFault(f"checks/{name}.py must define PROBLEM_SET, a ProblemSet")
        if found.name != name:
            raise CheckFault(f"checks/{name}.py defines the problem set {found.name!r}")
        return found

    def _package(self) -> str:
        """Return the name of a package that stands for `checks/`, making it when first asked.

        Two courses may each have a `ps1`, so the package's name is made from the folder's path.
        """
        folder = self.folder / "checks"
        name = "_course_" + hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        if name not in sys.modules:
            package = ModuleType(name, f"The checks in {folder}.")
            package.__path__ = [str(folder)]
            sys.modules[name] = package
            # A course that is itself a package may import its parts by their full names.
            if (self.folder / "__init__.py").exists() and str(self.folder.parent) not in sys.path:
                sys.path.append(str(self.folder.parent))
        return name


def find_course(folder: Path | None = None) -> Course:
    """Return the course in `folder`, or else the one that the surroundings name.

    Without a folder: the one in the environment variable AUTOGRADER_COURSE, or `assignments/` in
    the working folder or the nearest folder above it that has one.

    Raises:
        GraderError: if there is none; says where was looked.
    """
    named = folder or os.environ.get(COURSE_VARIABLE)
    if named is not None:
        path = Path(named).resolve()
        if not (path / "sets").is_dir():
            raise GraderError(f"{path} is no course folder: it has no folder sets/")
        return Course(path)
    here = Path.cwd()
    for above in (here, *here.parents):
        if (above / "assignments" / "sets").is_dir():
            return Course(above / "assignments")
    raise GraderError(
        f"no course found: neither {here} nor a folder above it has assignments/sets/; "
        f"name the folder with --course or {COURSE_VARIABLE}"
    )
