"""Find the notebooks of a class: every student exactly once, in whichever layout they came."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.files import read_untrusted
from autograder.records import GraderError, SubmissionRefused

MAX_NOTEBOOK_BYTES = 16 << 20
_SKIPPED_FOLDERS = {"__MACOSX", "__pycache__"}


@dataclass(frozen=True)
class Collected:
    """Where one student's notebook lies.

    Attributes:
        path: the file, or None where there is none to read; `reasons` then says why.
        submitted_at: when it was handed in, with its time zone; None where the layout does not say.
        time_source: where `submitted_at` was read, in words; empty if it is None.
        marked_late: the learning platform itself calls it late, without saying since when.
    """

    student: str
    path: Path | None
    reasons: tuple[str, ...] = ()
    submitted_at: datetime | None = None
    time_source: str = ""
    marked_late: bool = False


def collect(folder: Path, problem_set: str) -> tuple[Collected, ...]:
    """Find each student's notebook, every student exactly once, in order of their names.

    Understands nbgrader's `<student>/<set>/<set>.ipynb`, plain `<student>.ipynb` and
    `<student>/<anything>.ipynb`, also mixed, in `folder` or its subfolder `submitted/`.

    Raises:
        GraderError: if the folder does not exist or holds nothing of the kind.
    """
    if not folder.is_dir():
        raise GraderError(f"no folder of submissions at {folder}")
    if (folder / "submitted").is_dir():
        folder = folder / "submitted"
    candidates: dict[str, list[Path]] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
            continue
        if entry.is_dir() and not entry.is_symlink():
            candidates.setdefault(_student(entry.name), []).extend(_notebooks(entry, problem_set))
        elif entry.suffix == ".ipynb" or entry.is_dir():
            candidates.setdefault(_student(entry.name.removesuffix(".ipynb")), []).append(entry)
    if not candidates:
        raise GraderError(f"no submissions in {folder}: neither <student>.ipynb nor folders")
    return tuple(
        _choose(student, paths, problem_set) for student, paths in sorted(candidates.items())
    )


def read_notebook(found: Collected) -> bytes:
    """Read a found notebook's bytes.

    Raises:
        SubmissionRefused: if there is none, or it is no plain file, or too large.
    """
    if found.path is None:
        raise SubmissionRefused("; ".join(found.reasons))
    try:
        return read_untrusted(found.path, MAX_NOTEBOOK_BYTES)
    except GraderError as error:
        raise SubmissionRefused(str(error)) from None


def _student(name: str) -> str:
    readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return unicodedata.normalize("NFC", readable)


def _notebooks(folder: Path, problem_set: str) -> list[Path]:
    """Notebooks of one student's folder; those in the folder named for the set come first."""
    inside = folder / problem_set
    own = sorted(inside.glob("*.ipynb")) if inside.is_dir() and not inside.is_symlink() else []
    return own or sorted(folder.glob("*.ipynb"))


def _choose(student: str, paths: Sequence[Path], problem_set: str) -> Collected:
    if not paths:
        return Collected(student, None, ("the folder holds no notebook of this set",))
    chosen = min(paths, key=lambda path: (path.stem != problem_set, path.name))
    if len(paths) == 1:
        return Collected(student, chosen)
    names = ", ".join(path.name for path in paths)
    return Collected(
        student, chosen, (f"{len(paths)} notebooks ({names}); {chosen.name} was graded",)
    )
