"""Files that appear whole or not at all, whatever interrupts the program that writes them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Lend a scratch file beside `path`; it takes that name when the block ends without an error.

    Until then readers see the old file or none, and after an error nothing is left behind.
    """
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        scratch = Path(new.name)
    try:
        yield scratch
        scratch.chmod(0o644)  # the scratch file was for its owner alone
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_atomically(path: str | Path, content: str) -> None:
    """Write a whole file or nothing."""
    with replacing(path) as scratch:
        scratch.write_bytes(content.encode())
