"""Only one process at a time trains in a folder; two would mix their checkpoints and their log.

The operating system holds the lock and lets go of it when its process ends, however it ends, so
that none is ever left behind. Where a file system has no locks, nothing is locked.
Chapter: training transformers.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import torch

from course_pkg.training import distributed

LOCK_FILE = ".lock"

_HELD: dict[Path, int] = {}
"""Folders that this process has locked, and its thread that may lock them again."""


@contextmanager
def only_process(folder: Path | None, device: torch.device | str = "cpu") -> Iterator[None]:
    """Keep other processes from training in a folder; those that train together are one.

    Args:
        folder: made if it is not there; None locks nothing.
        device: on which the processes that train together agree.

    Raises:
        BlockingIOError: in each of these processes, if another one trains there.
    """
    if folder is None:
        yield
        return
    place, file = folder.resolve(), None
    is_ours = _HELD.get(place) == threading.get_ident()
    is_taken = False
    if distributed.is_main() and not is_ours:
        is_taken = place in _HELD
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / LOCK_FILE).open("ab")
            is_taken = is_taken or not _lock(file)
        except OSError:  # a folder that is only read, or locks that are not to be had
            pass
    try:
        (is_taken,) = distributed.any_of_processes((is_taken,), torch.device(device))
        if is_taken:
            raise BlockingIOError(
                f"{folder} is being trained in by another process; wait for it, stop it, or name "
                "another folder"
            )
        _HELD.setdefault(place, threading.get_ident())
        try:
            yield
        finally:
            if not is_ours:
                _HELD.pop(place, None)
    finally:
        if file is not None:
            file.close()  # which unlocks it


def _lock(file: IO[bytes]) -> bool:
    """Say whether the file was locked, and not by somebody else.

    Raises:
        OSError: if files cannot be locked here.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
