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
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from autograder.authoring.checks import Check, Part
from autograder.authoring.notebooks import NBGRADER_SETTINGS
from autograder.authoring.release import ReleasedSet
from autograder.handed_out import Files

_GRADER = Path(__file__).parents[1]
_PLAIN = (bool, int, float, complex, str, bytes, range, type(None), type(...))
_OF_EVERY_CLASS = {
    *("__dict__", "__weakref__", "__module__", "__doc__", "__annotations__"),
    *("__firstlineno__", "__static_attributes__"),
}
# Files of the grader that take part in a grade; the others find submissions or show results.
_DECIDING = ("records.py", "inside/*", "sandbox/*", "authoring/*", "intake/repair.py", "grading/*")


def input_digests(released: ReleasedSet) -> dict[str, str]:
    """Return what decides the grades of a problem set: the name of each thing and its digest."""
    grader = [path for pattern in _DECIDING for path in _GRADER.glob(pattern)]
    course, name = released.course, released.name
    packages = [package.rglob("*.py") for package in reference_packages(released)]
    libraries = [f"{library} {version}" for library, version in _versions(("numpy", "torch"))]
    handed_out = {"files handed out": _digest_of(released.files)} if released.files else {}
    if not course.has_checks:
        left = repr(sorted(released.left_to_people))
        handed_out |= {
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


def _digest_of(files: Files) -> str:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


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
    packages = set()
    for module in own:
        for value in vars(module).values():
            origin = getattr(value, "__module__", None) or getattr(value, "__name__", "")
            top = sys.modules.get(str(origin).split(".")[0])
            path = Path(getattr(top, "__file__", None) or "/").resolve().parent
            if path.parent == course.folder.parent and path != course.folder:
                packages.add(path)
    return packages - {_GRADER}


class _CodeDigest:
    """Walks what a part's functions compute with; comments and layout make no difference.

    Args:
        own: folders whose code is followed; of all other code only the name counts.
    """

    def __init__(self, own: Sequence[Path]) -> None:
        self._own = own
        # What was walked already, by identity, and kept: the number of an object that is gone is
        # soon another's. Tuples, texts and code are walked each time, for whether equal ones are
        # the same object depends on how the interpreter came by them.
        self._seen: dict[int, tuple[int, Any]] = {}
        self._entered: list[ModuleType] = []
        self._words: list[str] = []

    def of(self, check: Check, part: Part) -> str:
        worth = part.weight, part.price, part.earns_alone, check.chance, part.partner
        self._words.append(repr((check.points, check.target, check.seconds, worth)))
        for value in (part.inputs, part.probe, part.judge, check.reference):
            self._add(value)
        return hashlib.sha256("\0".join(self._words).encode()).hexdigest()[:16]

    def _add(self, value: Any) -> None:
        if isinstance(value, _PLAIN):
            self._words.append(repr(value))
        elif isinstance(value, tuple):
            self._add_all("tuple", value)
        elif isinstance(value, CodeType):
            self._words += [value.co_code.hex(), value.co_exceptiontable.hex(), *value.co_names]
            self._add(value.co_consts)
        elif id(value) in self._seen:
            self._words.append(f"again {self._seen[id(value)][0]}")
        else:
            self._seen[id(value)] = len(self._seen), value
            self._add_new(value)

    def _add_all(self, kind: str, values: Collection[Any]) -> None:
        self._words.append(f"{kind} of {len(values)}")
        for value in values:
            self._add(value)

    def _add_new(self, value: Any) -> None:
        if isinstance(value, FunctionType) and self._is_own(value.__code__.co_filename):
            self._add_function(value)
        elif isinstance(value, type) and self._is_own(_file_of(value)):
            self._add_class(value)
        elif isinstance(value, functools.partial):
            self._add_all("partial", (value.func, value.args, value.keywords))
        elif isinstance(value, MethodType):
            self._add_all("method", (value.__func__, value.__self__))
        elif isinstance(value, (staticmethod, classmethod)):
            self._add_all(type(value).__name__, (value.__func__,))
        elif isinstance(value, property):
            self._add_all("property", (value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.cached_property):
            self._add_all("property", (value.func,))
        elif isinstance(value, Mapping):
            self._add_all("mapping", [*value.items()])
        elif isinstance(value, list):
            self._add_all("list", value)
        elif isinstance(value, (set, frozenset)):
            alone = ["\0".join(_CodeDigest(self._own)._words_of(element)) for element in value]
            self._add_all("set", sorted(alone))
        else:
            self._add_other(value)
        if hasattr(value, "__wrapped__"):  # by a decorator, which is code of its own
            self._add(value.__wrapped__)

    def _words_of(self, value: Any) -> list[str]:
        self._add(value)
        return self._words

    def _add_function(self, function: FunctionType) -> None:
        self._words.append(function.__name__)
        self._add(function.__code__)
        self._add((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty
                self._add(cell.cell_contents)
        names = sorted(_names(function.__code__))
        for name in names:
            if name in function.__globals__ and not name.startswith("__"):  # as __file__ does
                self._add_global(function.__globals__[name], names)

    def _add_global(self, value: Any, names: Sequence[str]) -> None:
        if not isinstance(value, ModuleType):
            self._add(value)
        elif self._is_own(_file_of(value)) and value not in self._entered:
            self._entered.append(value)  # modules may hold each other
            for member in names:
                self._add_global(getattr(value, member, None), names)
            self._entered.pop()

    def _add_class(self, kind: type) -> None:
        self._words.append(kind.__qualname__)
        self._add(kind.__bases__)
        for name, member in sorted(vars(kind).items()):
            if name not in _OF_EVERY_CLASS:
                self._words.append(name)
                self._add(member)

    def _add_other(self, value: Any) -> None:
        """Add an object by its class and what it holds, or by how it describes itself."""
        kind = type(value)
        self._words.append(getattr(value, "__qualname__", kind.__qualname__))
        if hasattr(value, "__array__") and not isinstance(value, type):
            array = np.asarray(value.detach() if hasattr(value, "detach") else value)
            self._words += [str(array.dtype), str(array.shape), array.tobytes().hex()]
        elif self._is_own(_file_of(kind)):
            self._add(kind)
            self._add(dict(sorted(getattr(value, "__dict__", {}).items())))
        elif not callable(value) and not isinstance(value, (ModuleType, PurePath)):
            described = repr(value)  # of those two, it says where they lie
            if " at 0x" not in described:  # which is so in this process alone
                self._words.append(described)

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
