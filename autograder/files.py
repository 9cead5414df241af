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
