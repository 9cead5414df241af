"""List what was delivered, in a folder or a zip file, and read it; nothing of it is believed.

Others chose these names and wrote these bytes. Symbolic links are not followed, nothing is unpacked
onto the disk, and whatever in a zip file could lead elsewhere, hide or swell is listed with the
reason why it is not read, so that the student it belongs to is not lost.
"""

import contextlib
import functools
import hashlib
import io
import itertools
import os
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.files import open_beneath, read_untrusted
from autograder.records import GraderError, NothingHandedIn

MAX_TOTAL_BYTES = 4 << 30  # of all that is read from one zip file
MAX_RATIO = 200  # deflate can do 1,000; text with plots in it does 2 to 20
_RATIO_MATTERS_BYTES = 4 << 20  # below it, an honest log that repeats itself may do 300
_MAX_DIRECTORY_BYTES = 8 << 20  # a zip file's list of contents: some 80,000 members
_MAX_DEPTH = 4
_MAX_ENTRIES = 100_000  # of a folder that holds a class
_MAX_ENTRIES_OF_ONE = 10_000  # of all that one student has put there
WRAPPERS = ("submitted", "inbound")
"""Folders of a course that hold a class, and are no student's."""
_OF_WRAPPERS = [(name,) for name in WRAPPERS]
_SKIPPED = {"__MACOSX", "__pycache__", ".DS_Store", ".git", ".ipynb_checkpoints"}
_PACKED = (".zip", ".gz", ".tgz", ".tar", ".7z", ".rar", ".bz2", ".xz")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OverflowError,
    OSError,
)
"""What zipfile raises on archives that are damaged or made to hurt."""


def _unreadable(max_bytes: int) -> bytes:
    raise GraderError("it is a folder")


@dataclass(frozen=True)
class Delivered:
    """One file or folder of a delivery.

    Attributes:
        parts: the names that lead to it, as text; none of them empty, "." or "..".
        path: where it lies; in a zip file, the archive's path and its own after it.
        refusal: why it is not read; empty if it may be tried.
        is_folder: it is a folder, or a link to one.
        arrived_at: when the file system last took note of it, in seconds since 1970. Its owner
            cannot set that back, as they can every other time. None inside a zip file.
        owner: the account that a student's folder belongs to; None for files, and where that cannot
            be told, as in a zip file.
    """

    parts: tuple[str, ...]
    path: Path
    is_folder: bool = False
    refusal: str = ""
    reader: Callable[[int], bytes] = field(default=_unreadable, repr=False, compare=False)
    arrived_at: float | None = field(default=None, compare=False)
    owner: str | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """Its own name, without those of the folders around it."""
        return self.parts[-1]

    @property
    def is_packed(self) -> bool:
        """Whether it is itself an archive, by its name."""
        return not self.is_folder and self.name.lower().endswith(_PACKED)

    def read(self, max_bytes: int) -> bytes:
        """Read it.

        Raises:
            GraderError: if it cannot or may not be read, or holds more than `max_bytes`; says why.
        """
        if self.refusal:
            raise GraderError(self.refusal)
        return self.reader(max_bytes)


def contents(path: Path) -> tuple[Delivered, ...]:
    """List a folder or a zip file, in the order of names; what programs hide there is left out.

    Raises:
        GraderError: if it is neither, or cannot be listed; says why.
    """
    if path.is_dir():
        return tuple(_in_folder(path))
    if not path.exists():
        raise NothingHandedIn(f"no folder of submissions at {path}")
    return tuple(sorted(_in_zip(path), key=lambda entry: entry.parts))


def _is_hidden(parts: Sequence[str]) -> bool:
    """Whether a name is left out: of what programs put there, and of hidden files within."""
    return bool(_SKIPPED.intersection(parts)) or any(
        name.startswith("._" if index == 0 else ".") for index, name in enumerate(parts)
    )


def as_text(name: str) -> str:
    """Return a file's name as text: bytes of it that are no UTF-8 are replaced.

    A digest of the name as it is then stands before its ending, to keep two files apart.
    """
    as_it_is = os.fsencode(name)
    shown = as_it_is.decode("utf-8", "replace")
    if os.fsencode(shown) == as_it_is:
        return name
    stem, ending = os.path.splitext(name)
    digest = hashlib.sha256(os.fsencode(stem)).hexdigest()[:8]
    return os.fsencode(f"{stem}~{digest}{ending}").decode("utf-8", "replace")


def _bad_name(parts: Sequence[str]) -> str:
    """Say what is wrong with the outermost name, which is a student's; empty if nothing is."""
    if parts[0].startswith("."):
        return f"the name {parts[0]} begins with a dot; rename it, and it is graded"
    return ""


# ------------------------------------------------------------------ folders
def _in_folder(root: Path) -> Iterator[Delivered]:
    waiting: list[tuple[str, ...]] = [()]
    seen: Counter[tuple[str, ...]] = Counter()
    while waiting:
        above = waiting.pop()
        is_wrapped = above[:1] in _OF_WRAPPERS
        whose = above[:2] if is_wrapped else above[:1]
        is_shared = len(above) == is_wrapped
        most = _MAX_ENTRIES if is_shared else _MAX_ENTRIES_OF_ONE - seen[whose]
        try:
            entries = _entries(root, above, most)
        except OSError as error:
            shown = tuple(map(as_text, above))
            reason = f"{'/'.join(shown) or root} cannot be listed: {error.strerror}"
            if not above:
                raise GraderError(reason) from None
            yield Delivered(shown, root.joinpath(*above), is_folder=True, refusal=reason)
            continue
        if len(entries) > most:
            if is_shared:
                place = root.joinpath(*above)
                raise GraderError(f"{place} holds more than {_MAX_ENTRIES} files and folders")
            shown = tuple(map(as_text, whose))
            reason = f"{shown[-1]} holds more than {_MAX_ENTRIES_OF_ONE} files and folders"
            reason += "; hand in the notebook alone"
            yield Delivered(shown, root.joinpath(*whose), is_folder=True, refusal=reason)
            waiting = [other for other in waiting if other[: len(whose)] != whose]
            continue
        seen[whose] += len(entries)
        for name, entry in entries:
            if entry.is_folder and not entry.refusal and len(entry.parts) < _MAX_DEPTH:
                waiting.append((*above, name))
            yield entry


def _entries(root: Path, above: tuple[str, ...], most: int) -> list[tuple[str, Delivered]]:
    """List one folder by its descriptor: a name could lead elsewhere by now.

    Returns:
        With each entry its name as it is; where there are more than `most`, one more than that.
    """
    folder = open_beneath(root, above, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(folder) as listed:
            shown = (entry for entry in listed if not _is_hidden((*above, entry.name)))
            entries = sorted(itertools.islice(shown, most + 1), key=lambda entry: entry.name)
        return [(entry.name, _in_directory(root, (*above, entry.name), entry)) for entry in entries]
    finally:
        os.close(folder)


def _in_directory(root: Path, parts: tuple[str, ...], entry: os.DirEntry[str]) -> Delivered:
    shown = tuple(map(as_text, parts))
    refusal = _bad_name(shown)
    if entry.is_symlink():
        refusal = f"{shown[-1]} is a symbolic link; it is not followed"
    arrived_at = owner = None
    with contextlib.suppress(OSError):  # it is gone since it was listed: reading it will say so
        about = entry.stat(follow_symlinks=False)
        arrived_at = about.st_ctime
        owner = _account(about.st_uid) if len(parts) <= 2 and entry.is_dir() else None
    return Delivered(
        shown,
        root.joinpath(*parts),
        is_folder=entry.is_dir(),
        refusal=refusal,
        reader=lambda max_bytes: read_untrusted(root, parts, max_bytes),
        arrived_at=arrived_at,
        owner=owner,
    )


@functools.cache
def _account(number: int) -> str | None:
    """Name an account; None where the machine knows none of that number, and on Windows."""
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        return pwd.getpwuid(number).pw_name
    return None


# ------------------------------------------------------------------ zip files
class _Bounded(io.FileIO):
    """A file of which nobody reads more at once than a zip file's list of contents may take.

    zipfile reads the whole list at once, however long the archive says that it is.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = _MAX_DIRECTORY_BYTES + 1 if size is None or size < 0 else size
        data = super().read(min(wanted, _MAX_DIRECTORY_BYTES + 1)) or b""
        if len(data) > _MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"its list of contents exceeds {_MAX_DIRECTORY_BYTES} bytes")
        return data


def _in_zip(path: Path) -> Iterator[Delivered]:
    try:
        # Kept open: the members are read later, and the last of them lets it go.
        archive = zipfile.ZipFile(_Bounded(path))  # type: ignore[arg-type]
    except _BROKEN as error:
        raise GraderError(f"{path} is neither a folder nor a readable zip file: {error}") from None
    reader = _ZipReader(archive)
    members = [(_safe_parts(_name(info)), info) for info in archive.infolist()]
    same = Counter(parts for parts, info in members if not _is_folder(info))
    for parts, info in members:
        if not parts or _is_hidden(parts):
            continue
        refusal = _bad_name(parts) or _refusal(info)
        if not _is_folder(info) and same[parts] > 1:
            refusal = f"the zip file holds {same[parts]} files named {'/'.join(parts)}"
        yield Delivered(
            parts,
            path.joinpath(*parts),
            is_folder=_is_folder(info),
            refusal=refusal,
            reader=reader.of(info, parts[-1]),
        )


def _name(info: zipfile.ZipInfo) -> str:
    """Return a member's name; many programs write UTF-8 without the mark that says so."""
    if info.flag_bits & 0x800:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _is_folder(info: zipfile.ZipInfo) -> bool:
    # ZipInfo.is_dir breaks on a name that begins with a zero byte.
    return _name(info).endswith("/")


def _safe_parts(name: str) -> tuple[str, ...]:
    """Split a path at either slash and keep only what names something below."""
    parts = name.replace("\\", "/").replace("\0", "\ufffd").split("/")
    return tuple(
        unicodedata.normalize("NFC", part) for part in parts if part not in ("", ".", "..")
    )


def _refusal(info: zipfile.ZipInfo) -> str:
    """Say why a member is not read, from what the list of contents says about it."""
    name = _name(info)
    shown = "/".join(_safe_parts(name))
    kind = stat.S_IFMT(info.external_attr >> 16)
    reasons = {
        "has a path that leads out of the zip file": name.startswith(("/", "\\"))
        or ".." in name.replace("\\", "/").split("/")
        or name[1:2] == ":",
        "has a name with a zero byte": "\0" in name,
        "is a symbolic link; it is not followed": kind == stat.S_IFLNK,
        "is not a plain file": kind not in (0, stat.S_IFREG, stat.S_IFLNK) and not _is_folder(info),
        "is encrypted": bool(info.flag_bits & 0x2041),
        "is packed by a method other than stored or deflated": info.compress_type
        not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
        f"swells to {info.file_size} bytes from {info.compress_size}": info.file_size
        > max(_RATIO_MATTERS_BYTES, MAX_RATIO * info.compress_size),
    }
    return next((f"{shown} {words}" for words, holds in reasons.items() if holds), "")


class _ZipReader:
    """Reads members of one zip file and counts what they have cost together."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._taken = 0

    def of(self, info: zipfile.ZipInfo, name: str) -> Callable[[int], bytes]:
        """Return the function that reads one member."""
        return lambda max_bytes: self._read(info, name, max_bytes)

    def _read(self, info: zipfile.ZipInfo, name: str, max_bytes: int) -> bytes:
        if info.file_size > max_bytes:
            raise GraderError(f"{name} has {info.file_size} bytes; at most {max_bytes} are read")
        if self._taken + info.file_size > MAX_TOTAL_BYTES:
            raise GraderError(
                f"{name} is not read: of one zip file at most {MAX_TOTAL_BYTES} bytes are read"
            )
        try:
            with self._archive.open(info) as file:
                data = file.read(max_bytes + 1)
        except _BROKEN as error:
            raise GraderError(f"{name} is damaged in the zip file: {error}") from None
        self._taken += len(data)
        return data
