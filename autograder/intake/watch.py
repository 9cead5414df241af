"""Say when something in a folder is ready to be graded, not while it still grows.

A file counts as arrived when it has not changed for some seconds. One that does not read as JSON
gets longer: a slow upload looks just like a broken notebook, and a broken notebook can wait.
"""

import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.intake.collection import Collected, is_too_intricate, read_notebook
from autograder.records import GraderError, NothingHandedIn, SubmissionRefused

_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds.

    Attributes:
        settle: a file must have been left alone for so long before it is read.
        unreadable: the same for a file that is no complete JSON.
        pause: between two looks at the folder.
    """

    settle: float = 2.0
    unreadable: float = 60.0
    pause: float = 1.0


class Held(Container[Path]):
    """The files that are not to be read yet: all but those that have arrived and stayed so."""

    def __init__(self, arrived: Mapping[Path, _Stamp]) -> None:
        self._arrived = arrived

    def __contains__(self, path: object) -> bool:
        return isinstance(path, Path) and self._arrived.get(path, ()) != _stamp(path)


def rounds(
    look: Callable[[], Iterable[Collected]],
    patience: Patience,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    is_due: Callable[[], bool] = lambda: False,
    warned: Callable[[Sequence[str]], None] = lambda lines: None,
) -> Iterator[Held]:
    """Yield whenever there is something to do: the files that are not to be read yet.

    The caller grades the rest before it asks for the next round. Goes on until it is interrupted.

    Args:
        look: finds what is there; raises NothingHandedIn where there is nothing (yet).
        clock: monotonic seconds.
        is_due: whether there is something to do though nothing has arrived.
        warned: is told once why nothing can be found, where it is for another reason.
    """
    seen: dict[Path, tuple[_Stamp, float]] = {}
    graded: dict[Path, _Stamp] = {}
    said = ""
    while True:
        arrived = {}
        found, problem = _found(look)
        if problem not in ("", said):
            warned([f"{problem}; until that is put right, nothing is graded"])
        said = problem
        for one in found:
            stamp = _stamp(one.path) if one.path is not None else None
            if one.path is None or stamp is None:
                continue
            if one.path not in seen or seen[one.path][0] != stamp:
                seen[one.path] = stamp, clock() + _wait(one, patience)
            if clock() >= seen[one.path][1]:
                arrived[one.path] = stamp
        if any(graded.get(path) != stamp for path, stamp in arrived.items()) or is_due():
            # Taken down before grading: what changes while it is graded is graded again.
            graded = arrived
            yield Held(arrived)
        sleep(patience.pause)


def _found(look: Callable[[], Iterable[Collected]]) -> tuple[Iterable[Collected], str]:
    """Return what is there, and why it cannot be told."""
    try:
        return look(), ""
    except NothingHandedIn:
        return (), ""  # a folder to which nothing has come yet
    except GraderError as error:
        return (), str(error)


def _stamp(path: Path) -> _Stamp | None:
    """What changes when a file does, or the archive it lies in; None if nothing of it exists."""
    for existing in (path, *path.parents):
        try:
            status = os.lstat(existing)
        except OSError:
            continue
        return status.st_size, status.st_mtime_ns, status.st_ino
    return None


def _wait(collected: Collected, patience: Patience) -> float:
    try:
        data = read_notebook(collected)
        if is_too_intricate(data):
            return patience.settle  # it will be refused, and is not built up for that
        json.loads(data)
    except (SubmissionRefused, ValueError, RecursionError):
        return max(patience.settle, patience.unreadable)
    return patience.settle
