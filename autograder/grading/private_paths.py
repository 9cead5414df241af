"""Find what holds a course's answers, to hide it from student code.

That is the repository of the course, with its history and its solutions. And a reference that can
be imported is the answer: the packages of the distribution that installed the grader, and whatever
else the files of a set's checks import. What the released notebook imports stays visible, and so
does what the sandbox needs itself.
"""

import ast
import contextlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import MappingProxyType

from nbformat import NotebookNode

from autograder.authoring.checks import Check
from autograder.handed_out import Files, modules_in, python_in
from autograder.inside.probe import package_of
from autograder.sandbox.mounts import copies, installed_with_the_grader

_SANDBOX_NEEDS = ("ipython", "matplotlib", "numpy", "torch", "tqdm")


def private_packages(
    checks: Iterable[Path], released: NotebookNode, handed_out: Files = MappingProxyType({})
) -> tuple[Path, ...]:
    """Return files and folders of installed packages that student code must not reach.

    Args:
        checks: the files that decide how a set is judged.
        released: the set's notebook as students get it.
        handed_out: what they get beside it.
    """
    sources = [path.read_text(encoding="utf-8") for path in checks]
    given = [cell.source for cell in released.cells if cell.cell_type == "code"]
    given += python_in(handed_out)
    names = imported_packages(sources) - imported_packages(given) - _needed(_SANDBOX_NEEDS)
    names -= modules_in(handed_out)
    names |= installed_with_the_grader()
    first = (path for name in sorted(names) for path in _places(name))
    return tuple(dict.fromkeys((*first, *copies(names))))


def reference_packages(checks: Iterable[Check]) -> set[str]:
    """Name the packages from which an answer may not be imported, even where they can be.

    Those that hold the reference versions, and those that were installed with the grader.
    """
    names = {package_of(check.reference) for check in checks} | installed_with_the_grader()
    return names - _needed(_SANDBOX_NEEDS) - {"", "builtins"} - sys.stdlib_module_names


def repository(folder: Path) -> Path:
    """Return the nearest folder, from this one upwards, that is a repository or a project."""
    for above in (folder, *folder.parents):
        if (above / ".git").exists() or (above / "pyproject.toml").is_file():
            return above
    return folder


def imported_packages(sources: Iterable[str]) -> set[str]:
    """Return the top-level packages, but the standard library's, that these sources import."""
    names: set[str] = set()
    for source in sources:
        with contextlib.suppress(SyntaxError):  # a cell may hold magics
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.split(".")[0])
    return names - sys.stdlib_module_names


@cache
def _needed(distributions: tuple[str, ...]) -> set[str]:
    """Return the packages of these distributions and of all that they require."""
    waiting, seen, names = list(distributions), set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            distribution = importlib.metadata.distribution(name)
            names |= _packages(distribution)
            waiting += [
                re.split(r"[^\w.-]", line)[0].lower()
                for line in distribution.requires or ()
                if "extra ==" not in line
            ]
    return names


def _packages(distribution: importlib.metadata.Distribution) -> set[str]:
    files = distribution.files or ()
    return _listed_packages(distribution) or {
        path.parts[0].removesuffix(".py") for path in files if path.suffix == ".py"
    }


def _listed_packages(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the packages that setuptools lists; other tools list none."""
    return set((distribution.read_text("top_level.txt") or "").split())


def _places(name: str) -> Iterator[Path]:
    """Yield where Python finds a package; of a module in one file, its compiled forms too."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        yield from map(Path, spec.submodule_search_locations)
    elif spec.origin and Path(spec.origin).is_file():
        file = Path(spec.origin)
        yield file
        yield from file.parent.glob(f"__pycache__/{file.stem}.*.pyc")
