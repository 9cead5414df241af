"""One text for everything that decides a grade apart from the submission itself.

Grades recorded under the same fingerprint would come out the same; so it covers the set's source
and checks, the package that holds the reference versions, the grader, and the libraries' versions.
Too much rather than too little: a needless regrade costs a second, a stale grade costs trust.
"""

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.course import Course

# Files of the grader that only show what was decided.
_PRESENTATION = {
    *("__init__", "__main__", "doctor", "feedback", "gradebook", "journal", "mutants"),
    *("plain_nbgrader", "quality", "quality_report"),
}


def fingerprint(course: Course, name: str) -> str:
    """Return the fingerprint of a problem set, as hexadecimal digits."""
    grader = Path(__file__).parent
    files = [course.source(name), *course.check_files(name)]
    files += [path for path in grader.glob("*.py") if path.stem not in _PRESENTATION]
    for package in _reference_packages(course, name):
        files += package.rglob("*.py")
    digest = hashlib.sha256()
    for path in _in_order(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    versions = [f"python {sys.version_info[:2]}"]
    versions += [
        f"{library} {importlib.metadata.version(library)}" for library in ("numpy", "torch")
    ]
    digest.update("\n".join(versions).encode())
    return digest.hexdigest()


def _in_order(files: Iterable[Path]) -> list[Path]:
    """Sort by the path from the nearest common folder, so that moving a course changes nothing."""
    return sorted(set(files), key=lambda path: (path.parent.name, path.name, str(path)))


def _reference_packages(course: Course, name: str) -> set[Path]:
    """Folders of the packages, beside the course, from which its checks import."""
    checks = course.checks(name)
    siblings = [
        module
        for loaded, module in sys.modules.items()
        if loaded.rpartition(".")[0] == checks.__package__ and module is not None
    ]
    found = set()
    for module in siblings:
        for value in vars(module).values():
            origin = getattr(value, "__module__", None) or getattr(value, "__name__", "")
            top = sys.modules.get(str(origin).split(".")[0])
            path = Path(getattr(top, "__file__", None) or "/").resolve().parent
            if path.parent == course.folder.parent and path != course.folder:
                found.add(path)
    return found - {Path(__file__).parent}
