"""What decides a grade apart from the submission itself, each thing as one digest.

Grades made from the same digests would come out the same; so they cover the set's source and
checks, the package that holds the reference versions, the grader, and the libraries' versions. Too
much rather than too little: a needless regrade costs a second, a stale grade costs trust.

For the question *why* a grade has changed, files are too coarse. `part_digests` follows the code
of each part of each check instead, through everything of the course's own that it calls.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from autograder.authoring.checks import Check, Part
from autograder.authoring.course import NBGRADER_SETTINGS
from autograder.authoring.release import ReleasedSet

_GRADER = Path(__file__).parents[1]
# Files of the grader that take part in a grade; the others find submissions or show results.
_DECIDING = ("records.py", "inside/*", "sandbox/*", "authoring/*", "intake/repair.py", "grading/*")


def input_digests(released: ReleasedSet) -> dict[str, str]:
    """Return what decides the grades of a problem set: the name of each thing and its digest."""
    grader = [path for pattern in _DECIDING for path in _GRADER.glob(pattern)]
    course, name = released.course, released.name
    packages = [package.rglob("*.py") for package in reference_packages(released)]
    libraries = [f"{library} {found}" for library, found in _versions(("numpy", "torch"))]
    handed_out = {}
    if not course.has_checks:
        left = repr(sorted(released.left_to_people))
        handed_out = {
            "files handed out": hashlib.sha256(repr(released.setup).encode()).hexdigest(),
            "nbgrader's settings": _digest(
                filter(Path.is_file, [course.folder / NBGRADER_SETTINGS])
            ),
            "tests left to people": hashlib.sha256(left.encode()).hexdigest(),
        }
    return handed_out | {
        "notebook source": _digest([course.source(name)]),
        "checks": _digest(course.check_files(name)),
        "reference package": _digest(path for files in packages for path in files),
        "grader": _digest(path for path in grader if path.suffix == ".py"),
        "libraries": ", ".join([f"python {sys.version_info[0]}.{sys.version_info[1]}", *libraries]),
    }


def _versions(libraries: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the versions of those that are installed: a course may do without torch."""
    for library in libraries:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield library, importlib.metadata.version(library)


def part_digests(released: ReleasedSet) -> dict[str, str]:
    """For each "item: part" of a set, return a digest of what it asks and what it demands."""
    own = (released.course.folder.parent.resolve(), _GRADER.resolve())
    return {
        f"{check.item}: {part.name}": _CodeDigest(own).of(check, part)
        for check in released.problem_set.checks
        for part in check.parts
    }


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in _in_order(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _in_order(files: Iterable[Path]) -> list[Path]:
    """Sort by the path from the nearest common folder, so that moving a course changes nothing."""
    return sorted(set(files), key=lambda path: (path.parent.name, path.name, str(path)))


def reference_packages(released: ReleasedSet) -> set[Path]:
    """Folders of the packages, beside the course, from which its checks import."""
    course, _ = released.course, released.problem_set  # which loads the checks
    own = [
        module
        for module in list(sys.modules.values())
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(course.folder)
    ]
    found = set()
    for module in own:
        for value in vars(module).values():
            origin = getattr(value, "__module__", None) or getattr(value, "__name__", "")
            top = sys.modules.get(str(origin).split(".")[0])
            path = Path(getattr(top, "__file__", None) or "/").resolve().parent
            if path.parent == course.folder.parent and path != course.folder:
                found.add(path)
    return found - {_GRADER}


class _CodeDigest:
    """Walks what a part's functions compute with; comments and layout make no difference.

    Args:
        own: folders whose code is followed; of all other code only the name counts.
    """

    def __init__(self, own: Sequence[Path]) -> None:
        self._own = own
        self._seen: set[int] = set()
        self._words: list[str] = []

    def of(self, check: Check, part: Part) -> str:
        worth = part.weight, part.price
        self._words = [repr((check.points, check.target, check.seconds, worth))]
        for value in (part.inputs, part.probe, part.judge, check.reference):
            self._add(value)
        return hashlib.sha256("\0".join(self._words).encode()).hexdigest()[:16]

    def _add(self, value: Any) -> None:
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, (bool, int, float, str, bytes, type(None))):
            self._words.append(repr(value))
            return
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, FunctionType) and self._is_own(value.__code__.co_filename):
            self._add_function(value)
        elif isinstance(value, type) and self._is_own(_file_of(value)):
            for _, member in sorted(vars(value).items()):
                self._add(getattr(member, "__func__", member))
        elif isinstance(value, functools.partial):
            self._add([value.func, value.args, value.keywords])
        elif isinstance(value, dict):
            self._add([pair for pair in value.items()])
        elif isinstance(value, (list, tuple)):
            for element in value:
                self._add(element)
        elif isinstance(value, CodeType):
            self._words += [value.co_code.hex(), *value.co_names]
            self._add(value.co_consts)
        elif isinstance(value, (set, frozenset)):
            self._words += sorted(map(repr, value))
        else:
            self._words.append(getattr(value, "__qualname__", type(value).__qualname__))

    def _add_function(self, function: FunctionType) -> None:
        self._words.append(function.__name__)
        self._add(function.__code__)
        self._add([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            self._add(cell.cell_contents)
        names = sorted(_names(function.__code__))
        for name in names:
            found = function.__globals__.get(name)
            if isinstance(found, ModuleType) and self._is_own(_file_of(found)):
                self._add([getattr(found, member, None) for member in names])
            elif found is not None:
                self._add(found)

    def _is_own(self, file: str) -> bool:
        path = Path(file)
        return "site-packages" not in path.parts and any(map(path.is_relative_to, self._own))


def _names(code: CodeType) -> set[str]:
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inner)


def _file_of(kind: type | ModuleType) -> str:
    """Return where it was defined; "" where that is inside the interpreter, as `math` may be."""
    module = kind if isinstance(kind, ModuleType) else sys.modules.get(kind.__module__)
    return getattr(module, "__file__", None) or ""
