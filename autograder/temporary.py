"""Temporary folders that the next run deletes if this one is killed.

A command that ends by itself deletes its own. One that is killed cannot, but the kernel releases
the lock that it held on the folder. On Windows, where nobody's class is graded, there is no such
lock, and what a killed command leaves stays.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from autograder.inside.deletion import empty_folder

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".autograder-run-"
_NEW_SECONDS = 60.0  # a folder so new may not have been locked yet


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Make an empty folder, locked as long as it is used, and delete what killed runs have left."""
    if fcntl is None:
        with tempfile.TemporaryDirectory(prefix=purpose, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
        return
    delete_leftovers()
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}-"))
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path
    finally:
        _delete(path)
        os.close(lock)


def delete_leftovers() -> None:
    """Delete this user's temporary folders that no run has locked."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                seen = os.fstat(folder)
                if seen.st_uid == os.geteuid() and seen.st_mtime < time.time() - _NEW_SECONDS:
                    _delete(path)
            finally:
                os.close(folder)


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        empty_folder(str(path))
        path.rmdir()
