"""Files that appear whole or not at all, and that say so when they are not what was written."""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKSUMS_FILE = "SHA256SUMS"
"""In the format of the program sha256sum, so that `sha256sum --check SHA256SUMS` works as well."""


def path_of(path: str | Path) -> Path:
    """Return a path as a shell reads it: "~" is the home of whoever runs this, if there is one.

    Raises:
        ValueError: of an empty text, which `Path` takes for the folder in which one works.
    """
    if path == "":
        raise ValueError("a path is ''; name a file or a folder (\".\" is the one you work in)")
    return Path(os.path.expanduser(path))  # pathlib's own fails without a home


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Lend a scratch file beside `path`; it takes that name when the block ends without an error.

    Until then readers see the old file or none, and after an error nothing is left behind.
    """
    path = path_of(path)
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


def refuse_file(folder: str | Path) -> Path:
    """Return the path of a folder that is there or can be made.

    Raises:
        ValueError: naming what is no path, or the file that stands there, or above it.
    """
    try:
        folder = path_of(folder)
    except TypeError:
        raise ValueError(f"folder is {folder!r}; it must be a path") from None
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise ValueError(f"{place} is a file; name a folder")
    return folder


NOT_FINITE = {text: float(text) for text in ("NaN", "Infinity", "-Infinity")}
"""How numbers that JSON does not have stand in our files, as in the JSON of protobuf."""


def reason_of(error: Exception) -> str:
    """Return what an error of reading a file says; of a missing key the key alone says nothing."""
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def as_json(value: Any, **layout: Any) -> str:
    """Return JSON that every program reads; `json.dumps` writes nan as only Python reads it.

    Numbers that are not finite become texts, which `float` turns into numbers again: `NOT_FINITE`.

    Args:
        layout: what else `json.dumps` takes, such as `indent`.
    """
    return json.dumps(_with_finite_numbers(value), allow_nan=False, **layout)


def _with_finite_numbers(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Mapping():
            return {key: _with_finite_numbers(item) for key, item in value.items()}
        case list() | tuple():
            return [_with_finite_numbers(item) for item in value]
    return value


def digest_of(fields: Mapping[str, Any]) -> str:
    """Return the sha256 of fields that are saved as JSON, whatever their order."""
    return hashlib.sha256(as_json(fields, sort_keys=True).encode()).hexdigest()


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Note the sha256 of some files of a folder, so that `check_checksums` finds what changed."""
    lines = [f"{_sha256(folder / name)}  {name}\n" for name in names]
    (folder / CHECKSUMS_FILE).write_text("".join(lines), encoding="utf-8")


def check_checksums(folder: Path, names: Iterable[str]) -> None:
    """Compare files with what `write_checksums` noted; a folder without it is taken as it is.

    Raises:
        ValueError: naming the file that is not as it was written.
        OSError: if one cannot be read.
    """
    file = folder / CHECKSUMS_FILE
    if not file.exists():  # written before there were any
        return
    lines = file.read_bytes().decode("utf-8", errors="replace").splitlines()
    noted = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in names:
        if name not in noted:
            raise ValueError(f"{CHECKSUMS_FILE} is damaged: it has no line for {name}")
        found = _sha256(folder / name)
        if found != noted[name]:
            raise ValueError(
                f"{name} is not as it was written: its sha256 is {found:.12}..., and by "
                f"{CHECKSUMS_FILE} it must be {noted[name]:.12}...; copy it again (or, if you "
                f"changed it yourself, remove {CHECKSUMS_FILE})"
            )


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
