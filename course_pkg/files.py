"""Files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a reader never meets half of it, whatever interrupts us."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    descriptor, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(scratch, 0o644)  # mkstemp makes files that only their owner may read
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
