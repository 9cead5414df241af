"""Where an instructor's class lies: in `class/` beside the course, out of reach of `make clean`.

Older versions kept it below `_build`, which is deleted whole. What they have left there is moved in
one step, so that at no moment half of a class is in one place and half in the other.
"""

import contextlib
import os
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from autograder.files import refuse_link_to_nowhere
from autograder.records import GraderError

CLASS = "class"
SETS = "assignments"
LEGACY = Path("_build", "course")
_WRITTEN = ("records", "received", "feedback", "autograded", "dashboard", "leaderboard")
_MARKS = ("gradebook.db", "records/salt")  # grading makes both, and nothing else does


def holds_class(folder: Path) -> bool:
    """Whether a class was graded into this folder."""
    return any((folder / mark).exists() for mark in _MARKS)


def classes_below(folder: Path) -> Iterator[Path]:
    """Yield every folder below this one, itself included, into which a class was graded."""
    for place, _, _ in os.walk(folder):
        if holds_class(Path(place)):
            yield Path(place)


def claim_class(folder: Path) -> None:
    """See to it that grading a class into a folder writes over nothing of somebody else's.

    Raises:
        GraderError: if no class is there, but something by a name that grading uses; or a link to a
            drive that is missing.
    """
    if holds_class(folder):
        return
    refuse_link_to_nowhere(folder)
    for name in _WRITTEN:
        if (folder / name).is_dir() and any((folder / name).iterdir()):
            raise GraderError(
                f"{folder / name} is not empty, and autograder has graded no class into {folder}: "
                "name another folder with --out"
            )


def claim_names(folder: Path, students: Iterable[str]) -> None:
    """See to it that the class's disk has a place of its own for each student.

    A record, a page and a folder are named for a student. Disks of macOS and Windows, also behind a
    container, take Ada and ada for the same name: one grade would overwrite the other.

    Args:
        students: all that are to be graded.

    Raises:
        GraderError: if two of them, or one and somebody graded earlier, have one place there.
    """
    earlier = {unquote(path.stem) for path in (folder / "records").glob("*/*.json")}
    alike: dict[str, set[str]] = defaultdict(set)
    for name in {*students, *earlier}:
        alike[unicodedata.normalize("NFKC", name).casefold().strip(" .")].add(name)
    doubtful = [sorted(names) for names in alike.values() if len(names) > 1]
    if not doubtful:
        return
    with tempfile.TemporaryDirectory(prefix=".names-", dir=folder) as scratch:
        for names in doubtful:
            for name in names:
                try:
                    os.mkdir(Path(scratch, name))
                except FileExistsError:
                    raise GraderError(
                        f"on the disk of {folder}, {' and '.join(map(repr, names))} are the same"
                        " name: one grade would overwrite the other. Rename what one of them"
                        " handed in, or name a folder on another disk with --out"
                    ) from None
                except OSError:
                    pass  # no name there at all: writing the page says so


def class_folder(top: Path, here: Path | None = None) -> tuple[Path, str]:
    """Return the folder of a course's class, and a line that says what was moved there, or nothing.

    Args:
        top: the folder in which the course lies.
        here: the working folder. Older versions put the class below it, wherever it was.

    Raises:
        GraderError: if there are two classes, or the one in `_build` cannot be moved, or may be
            another course's, or a link leads to a drive that is missing; says what to do. Nothing
            has changed then.
    """
    place, old = top / CLASS, top / LEGACY
    refuse_link_to_nowhere(place)
    if holds_class(old):
        return place, _move(old, place)
    stray = (here or top) / LEGACY
    if holds_class(stray) and not holds_class(place) and not (stray.parents[1] / SETS).exists():
        raise GraderError(
            f"an older version has graded a class into {stray}: {_by_hand(stray, place)}"
        )
    return place, ""


def _by_hand(old: Path, place: Path) -> str:
    return f"move it to {place} yourself if it is this course's, or say --out {old}"


def _move(old: Path, place: Path) -> str:
    if holds_class(place):
        raise GraderError(
            f"there are two classes, in {place} and, by an older version, in {old}: name the one "
            "you mean with --out, and move the other away"
        )
    from autograder.store.journal import Journal  # POSIX only, and so is what needs a class

    with Journal(old, "").only_writer():
        try:
            with contextlib.suppress(FileNotFoundError):
                place.rmdir()  # an empty one
            old.rename(place)
        except OSError as error:
            why = "there is something in the way" if place.exists() else error.strerror
            raise GraderError(
                f"the class that an older version kept in {old} cannot be moved to {place} "
                f"({why}): {_by_hand(old, place)}"
            ) from error
    return f"the class that an older version kept in {old} is now in {place}"
