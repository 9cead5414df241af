"""Where text comes from: a local folder, a public hub, and the folder for what is derived.

Chapter: what is a language model.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

from course_pkg.common.files import path_of

Splits = tuple[list[Any], list[Any], list[Any]]
"""Training, validation and test records."""


class SourceUnavailableError(LookupError):
    """A source cannot supply a text here: a file, a package or a network is missing."""


def local_folder(folder: str | Path | None) -> Path | None:
    """Return the folder of standard files: the argument, else the variable COURSE_DATA, else None.

    Raises:
        ValueError: it is given but is no folder.
    """
    chosen = folder if folder is not None else os.environ.get("COURSE_DATA")
    if not chosen:
        return None
    found = path_of(chosen)
    if not found.is_dir():
        raise ValueError(f"folder is {str(chosen)!r}; there is no such folder")
    return found


def read_local(folder: Path | None, path: str, *, encoding: str = "utf-8") -> str:
    """Read a file of the local folder, plain or with `.gz` after its name.

    Raises:
        SourceUnavailableError: no folder was given, or it lacks the file.
    """
    if folder is None:
        raise SourceUnavailableError("pass folder= or set COURSE_DATA to a folder with the files")
    plain, packed = folder / path, folder / f"{path}.gz"
    if plain.is_file():
        return plain.read_bytes().decode(encoding)
    if packed.is_file():
        return gzip.decompress(packed.read_bytes()).decode(encoding)
    raise SourceUnavailableError(f"no file {plain} or {packed.name} beside it")


def read_hub(path: str, config: str | None, split: str) -> Sequence[Mapping[str, Any]]:
    """Read one split of a data set from the Hugging Face hub, which keeps its own cache.

    Raises:
        SourceUnavailableError: the `datasets` library is not installed, or the hub is out of reach.
    """
    try:
        import datasets
    except ImportError as error:
        raise SourceUnavailableError(
            "the datasets library is missing; pip install 'language-models-by-hand[hub]'"
        ) from error
    except (OSError, RuntimeError) as error:  # it looks for its cache when it is imported
        raise SourceUnavailableError(
            f"the datasets library finds no folder for downloads ({error}); set HF_HOME to one"
        ) from error
    try:
        rows: Sequence[Mapping[str, Any]] = datasets.load_dataset(path, config, split=split)
    except (OSError, datasets.exceptions.DatasetsError) as error:
        raise SourceUnavailableError(
            f"{path} cannot be downloaded ({error}); connect to a network, or put its files "
            "into a folder and pass folder="
        ) from error
    return rows


def cache_folder() -> Path | None:
    """Return the folder for derived text, made if need be: COURSE_CACHE or the user's cache.

    Returns:
        None where it cannot be: the user has no home, as in many containers, or it cannot be
        written. What would be kept there is then derived again.
    """
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = path_of(os.environ.get("COURSE_CACHE") or Path(base) / "language-models-by-hand")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: pathlib finds no home
        return None
    return folder


@contextmanager
def some_home() -> Iterator[None]:
    """Let what is imported meanwhile find a home, also where the user has none.

    A container may run under a number without a name and without HOME. Libraries that only ask
    where their settings would be, if there were any, then fail at import; the top folder, which
    Docker itself gives such users, answers them.
    """
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = os.sep
        try:
            yield
        finally:
            del os.environ["HOME"]
    else:
        yield


def digest(splits: Iterable[Iterable[Any]]) -> str:
    """Return the sha256 of some splits: records ended by NUL, splits by one more."""
    sha = hashlib.sha256()
    for split in splits:
        for record in split:
            sha.update(_as_text(record).encode() + b"\0")
        sha.update(b"\0")
    return sha.hexdigest()


def split_by_digest(records: Iterable[Any]) -> Splits:
    """Split records 80 / 10 / 10 by their sha256: random-looking, and the same everywhere.

    A record's split depends on nothing but itself, so equal records never cross a border.
    """
    splits: Splits = ([], [], [])
    for record in records:
        tenth = hashlib.sha256(_as_text(record).encode()).digest()[0] * 10 // 256
        splits[max(0, tenth - 7)].append(record)
    return splits


def _as_text(record: Any) -> str:
    """Write a record as the same text on every Python: `repr` escapes by the Unicode it knows."""
    return record if isinstance(record, str) else json.dumps(astuple(record))
