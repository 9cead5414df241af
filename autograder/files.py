"""Files that others may have made, and files that must be whole or absent."""

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

from autograder.records import GraderError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash at any moment, sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
        raise


def write_if_new(path: Path, data: bytes) -> None:
    """Write a file as `write_atomically` does, unless it already holds just this."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == data:
            return
    write_atomically(path, data)


def read_untrusted(path: Path, max_bytes: int) -> bytes:
    """Read a plain file that somebody else put there.

    A symbolic link could name the gradebook, a pipe could block for ever, and a huge file could
    fill the memory: all are refused before a byte is read.

    Raises:
        GraderError: if it is not a plain file, or larger than `max_bytes`; says which.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise GraderError(f"{path.name} is a symbolic link; it is not followed") from None
        raise GraderError(f"{path.name} cannot be read: {error.strerror}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise GraderError(f"{path.name} is not a plain file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        size = max(status.st_size, len(data))
        raise GraderError(f"{path.name} has {size} bytes; at most {max_bytes} are read")
    return data
