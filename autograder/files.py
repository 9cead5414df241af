"""Files that others may have made, files that must be whole or absent, and CSV for spreadsheets."""

import contextlib
import csv
import errno
import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.records import GraderError

with contextlib.suppress(ImportError):  # not on Windows, where no class is graded
    import fcntl

_MAX_BYTES = 64 << 20
_SCRATCH = ".writing-"
OWN_FILES = ".made-here.json"
_NEW_SECONDS = 5.0
_KNOWS_NO_RIGHTS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def write_atomically(path: Path, data: bytes, like: Path | None = None) -> None:
    """Write a file so that a reader, or a crash at any moment, sees the old one or the new one.

    What a process that was killed has left in the folder is deleted.

    Args:
        like: a file whose rights it gets: who may read and write it; its own earlier ones if None.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _delete_scratch(str(path.parent.absolute()), os.getpid())
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=_SCRATCH)
    try:
        with os.fdopen(handle, "wb") as file:
            with contextlib.suppress(OSError, NameError):  # a file system without locks, Windows
                fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        set_rights(Path(scratch), _mode_of(like or path))
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
        raise


def _mode_of(path: Path) -> int:
    """Return the rights on a file: somebody may have closed it to others."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return 0o644


def set_rights(path: Path, mode: int) -> None:
    """Say who may read and write, where a file system knows: a stick as cameras have it does not.

    What was made for its owner alone stays so there.
    """
    try:
        os.chmod(path, mode)
    except OSError as error:
        if error.errno not in _KNOWS_NO_RIGHTS:
            raise


def refuse_link_to_nowhere(place: Path) -> None:
    """See that no drive is missing behind a link: what would be written there is elsewhere already.

    Raises:
        GraderError: if it is a link and what it leads to is not there.
    """
    if place.is_symlink() and not place.exists():
        raise GraderError(
            f"{place} is a link to {os.readlink(place)}, which is not there: is a drive missing? "
            "Bring it back, or take the link away"
        )


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder of files that is whole or absent, whatever interrupts this.

    Raises:
        GraderError: if it is there already, or cannot be written; says why.
    """
    if folder.exists():
        raise GraderError(f"{folder} exists already; move it away first")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(folder.parent) as scratch:
            for name, data in files.items():
                write_atomically(scratch / name, data)
            set_rights(scratch, 0o755)
            scratch.rename(folder)
    except OSError as error:
        raise GraderError(f"{folder} cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a folder to be filled and then renamed; whatever happens before that, it does not stay.

    What a process that was killed has left beside it is deleted.
    """
    _delete_scratch(str(parent.absolute()), os.getpid())
    scratch = Path(tempfile.mkdtemp(dir=parent, prefix=_SCRATCH))
    with contextlib.ExitStack() as closing:
        closing.callback(shutil.rmtree, scratch, ignore_errors=True)
        with contextlib.suppress(OSError, NameError, AttributeError):  # no locks there, Windows
            lock = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
            closing.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield scratch


@cache
def _delete_scratch(folder: str, process: int) -> None:
    """Delete what processes that are gone have half written, once for each folder and process."""
    with os.scandir(folder) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(_SCRATCH)]
    for path in left:
        with contextlib.suppress(OSError, NameError, AttributeError):
            if time.time() - os.lstat(path).st_mtime < _NEW_SECONDS:
                continue  # it may not have been locked yet
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISDIR(os.fstat(handle).st_mode):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
            finally:
                os.close(handle)


def write_if_new(path: Path, data: bytes, like: Path | None = None) -> None:
    """Write a file as `write_atomically` does, unless it already holds just this."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == data:
            return
    write_atomically(path, data, like)


class OwnFiles:
    """Files that a command writes into a folder, and replaces only as long as nobody changed them.

    A list of their checksums lies beside them.

    Args:
        names: all that the command is about to write; they are looked at before the first is.
        or_else: what else than to move a file away somebody can do.

    Raises:
        GraderError: if one of them is somebody else's, or was changed since; nothing is written.
    """

    def __init__(
        self,
        folder: Path,
        names: Iterable[str],
        or_else: str = ", or name another folder with --out",
    ) -> None:
        self._folder, self._list = folder, folder / OWN_FILES
        self._digests = self._read()
        others = [folder / name for name in names if not self.is_own(name)]
        if others:
            raise GraderError(
                f"nothing was written: {', '.join(map(str, others))} was changed since it was "
                f"made, or was not written by this command; move it away{or_else}"
            )

    def names(self, below: str) -> list[str]:
        """Return what was written below a folder, named with a slash at its end."""
        return [name for name in self._digests if name.startswith(below)]

    def lists(self, name: str) -> bool:
        """Whether such a file was ever written here."""
        return name in self._digests

    def is_newest(self, name: str, data: bytes) -> bool:
        """Whether this is what was last written there, whatever stands there now."""
        return self._digests.get(name, [""])[-1] == hashlib.sha256(data).hexdigest()

    def has_changed(self, name: str) -> bool:
        """Whether somebody has changed a file since it was written here."""
        return self.lists(name) and not self.is_own(name)

    def changed(self) -> list[Path]:
        """Return the files that somebody has changed since they were written here."""
        return [self._folder / name for name in self._digests if self.has_changed(name)]

    def write(self, name: str, data: bytes) -> Path:
        """Write one of them, and return its path."""
        digest = hashlib.sha256(data).hexdigest()
        # Listed first: what a killed run has written, or has not, is known in either case.
        self._digests[name] = [*self._digests.get(name, [])[-1:], digest]
        write_atomically(self._list, json.dumps(self._digests, indent=0).encode())
        write_atomically(self._folder / name, data)
        return self._folder / name

    def delete(self, name: str) -> None:
        """Delete one that nobody has changed."""
        (self._folder / name).unlink(missing_ok=True)
        del self._digests[name]
        write_atomically(self._list, json.dumps(self._digests, indent=0).encode())

    def is_own(self, name: str) -> bool:
        """Whether nothing stands there, or what was written and nobody has changed since."""
        path = self._folder / name
        if not os.path.lexists(path):
            return True
        if not path.is_file():
            return False
        return hashlib.sha256(path.read_bytes()).hexdigest() in self._digests.get(name, [])

    def _read(self) -> dict[str, list[str]]:
        with contextlib.suppress(OSError, ValueError):
            listed = json.loads(self._list.read_text(encoding="utf-8"))
            if isinstance(listed, dict) and all(isinstance(one, list) for one in listed.values()):
                return listed
        return {}


def open_beneath(root: Path, parts: Sequence[str], flags: int) -> int:
    """Open what lies below a folder, following no symbolic link on the way; return a descriptor.

    Each folder is opened from the one above it. So whoever owns a folder below `root` can swap it
    for a link at any moment and leads nobody out. `root` itself may be a link.

    Raises:
        OSError: if it cannot be opened; ENOTDIR or ELOOP where a link stands.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for place, part in enumerate(parts, 1):
        wanted = flags if place == len(parts) else os.O_RDONLY | os.O_DIRECTORY
        try:
            inner = os.open(part, wanted | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def read_untrusted(root: Path, parts: Sequence[str], max_bytes: int) -> bytes:
    """Read a plain file that somebody else put somewhere below a folder.

    A symbolic link could name the gradebook, a pipe could block for ever, and a huge file could
    fill the memory: all are refused before a byte is read.

    Raises:
        GraderError: if it is not a plain file, or larger than `max_bytes`; says which.
    """
    name = os.fsencode(parts[-1]).decode("utf-8", "replace")
    try:
        handle = open_beneath(root, parts, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise GraderError(f"{name} is a symbolic link; it is not followed") from None
        if error.errno == errno.ENOTDIR:
            reason = "a folder on the way to it is a symbolic link, which is not followed, or gone"
            raise GraderError(f"{name} cannot be read: {reason}") from None
        raise GraderError(f"{name} cannot be read: {error.strerror}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise GraderError(f"{name} is not a plain file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        size = max(status.st_size, len(data))
        raise GraderError(f"{name} has {size} bytes; at most {max_bytes} are read")
    return data


def as_utf8(text: str) -> bytes:
    """Encode text that others wrote; half a surrogate pair, as JSON may hold one, becomes "?"."""
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class Table:
    """A CSV file with a header; every row has as many cells as the header.

    Attributes:
        name: the file's name, for messages.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def find(self, column: str) -> int | None:
        """Return the index of a column; capitals and spaces around its name do not matter."""
        wanted = column.strip().casefold()
        names = (name.casefold() for name in self.header)
        return next((index for index, name in enumerate(names) if name == wanted), None)

    def index(self, column: str) -> int:
        """Return the index of a column that must be there.

        Raises:
            GraderError: if there is none; lists those that are.
        """
        index = self.find(column)
        if index is None:
            columns = ", ".join(name for name in self.header if name)
            raise GraderError(f"{self.name} has no column {column!r}; it has: {columns}")
        return index


def read_table(path: Path) -> Table:
    """Read CSV as learning platforms and spreadsheets save it.

    Understands a byte-order mark, UTF-16 where the mark says so, and commas, semicolons or tabs.

    Raises:
        GraderError: if it cannot be read; says why and what to do.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise GraderError(f"{path} has more than {_MAX_BYTES} bytes: is it the right file?")
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        text = data.decode(encoding)
        first = text.partition("\n")[0]
        delimiter = max(",;\t", key=first.count)
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except OSError as error:
        raise GraderError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise GraderError(f"{path} is not UTF-8 text: save it as CSV UTF-8") from None
    except csv.Error as error:
        raise GraderError(f"{path} is not CSV: {error}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise GraderError(f"{path} is empty")
    header = tuple(name.strip() for name in rows[0])
    width = len(header)
    filled = (tuple(row[:width]) + ("",) * (width - len(row)) for row in rows[1:])
    return Table(path.name, header, tuple(filled))


def write_table(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV in which no cell can be taken for a formula."""
    from autograder.untrusted import as_cell  # which needs more than the standard library

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([as_cell(cell) for cell in row] for row in rows)
    return out.getvalue()
