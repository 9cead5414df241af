"""A newer student edition takes the place of an older one, and of nothing that a student made.

To unpack a zip file replaces and adds. It asks nobody whether a chapter or a module was changed
meanwhile, and takes nothing away: what the course has dropped would stay, to be imported or read.
So each edition brings a list of its files under a name of its own, and says which list is the
newest. By the lists it is known what a student has changed. The standard library is all that this
needs.
"""

import contextlib
import hashlib
import json
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from autograder.authoring.workspace import WORK, keep_beside
from autograder.files import write_atomically
from autograder.records import GraderError

LISTS = ".editions"
"""The folder of the lists, in an edition."""

_NEWEST = "newest"  # names the list of the edition that was unpacked last


def lists(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what is to be packed beside these files, so that a later edition knows them."""
    digests = {path: _digest(data) for path, data in sorted(files.items())}
    listed = json.dumps(digests, indent=0).encode()
    name = f"{_digest(listed)[:16]}.json"
    return {f"{LISTS}/{name}": listed, f"{LISTS}/{_NEWEST}": name.encode()}


def unpack(archive: Path, folder: Path) -> list[str]:
    """Bring in a newer edition from its zip file; what a student has changed stays beside it.

    Interrupted, it can be run again: what says that the edition is here comes last.

    Returns:
        A line for each file that stands beside the new one, under the date of its last change.

    Raises:
        GraderError: if the file is no student edition, or cannot be read or written; says why.
    """
    if _is_the_course(folder):
        raise GraderError(
            f"{folder.resolve()} is the course's own folder, in which `git pull` brings what is "
            "newer; nothing was changed. Unpack the edition into a folder of its own"
        )
    if not archive.is_file():
        raise GraderError(f"there is no file {archive}; name the zip file of the edition")
    known: dict[str, set[str]] = {}
    for listed in (folder / LISTS).glob("*.json"):
        for name, digest in _read(listed).items():
            known.setdefault(name, set()).add(digest)
    lines = []
    try:
        with zipfile.ZipFile(archive) as packed:
            places = {i.filename.partition("/")[2]: i for i in packed.infolist() if not i.is_dir()}
            last = f"{LISTS}/{_NEWEST}"
            outside = [name for name in places if not _is_inside(folder, name)]
            if last not in places or outside:
                why = f": it would write {outside[0]!r}" if outside else ""
                raise GraderError(f"{archive} is no student edition{why}; nothing was changed")
            for name in sorted(places, key=lambda name: (name == last, name)):
                data, path = packed.read(places[name]), folder / name
                before = path.read_bytes() if path.is_file() else data
                is_ours = name.startswith(f"{LISTS}/") or _digest(before) in known.get(name, ())
                if before != data and not is_ours:
                    kept = keep_beside(path, before)
                    lines.append(f"{name}: you had changed it; as it was, it is {kept.name}")
                if before != data or not path.is_file():
                    write_atomically(path, data)
    except (EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:  # also encrypted
        raise GraderError(
            f"{archive} is damaged, or no zip file: {error}; download it again, and run this again"
        ) from error
    except OSError as error:
        raise GraderError(f"{archive} was not brought in whole: {error}; run it again") from error
    return lines


def clean(folder: Path) -> list[str]:
    """Delete what an earlier edition has put here, the newest has not, and nobody has changed.

    Returns:
        A line that says how many files went, and one for each that stays because it was changed.
    """
    place = folder / LISTS
    if _is_the_course(folder):  # somebody has unpacked an edition over it
        return []
    try:
        newest = place / (place / _NEWEST).read_text(encoding="utf-8").strip()
        now = _read(newest)
        earlier = [path for path in sorted(place.glob("*.json")) if path.name != newest.name]
    except OSError:
        return []
    if not now:
        return []
    lines, n_deleted = [], 0
    for listed in earlier:
        for name, digest in _read(listed).items():
            path = folder / name
            if name in now or not _is_inside(folder, name) or not path.is_file():
                continue
            if _digest(path.read_bytes()) == digest:
                path.unlink()
                _delete_empty(path.parent, folder)
                n_deleted += 1
            else:
                lines.append(f"{name}: not in this edition any more; it stays, as you changed it")
        listed.unlink()
    what = f"{n_deleted} file{'' if n_deleted == 1 else 's'} of an earlier edition"
    return [f"{what} deleted: this one has no more use for them", *lines] if n_deleted else lines


def _is_the_course(folder: Path) -> bool:
    """Whether this is a clone of the course: an edition has another README, package and set-up."""
    return (folder / "assignments" / "course.toml").is_file()


def _read(path: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        digests = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(digests, dict):
            return {str(name): str(digest) for name, digest in digests.items()}
    return {}


def _is_inside(folder: Path, name: str) -> bool:
    """Whether a name leads to a place below the folder, through no link, and not into work/."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == WORK or ".." in parts or PureWindowsPath(name).anchor:
        return False
    return not any((folder / Path(*parts[: n + 1])).is_symlink() for n in range(len(parts)))


def _delete_empty(folder: Path, top: Path) -> None:
    while folder != top:
        left = list(folder.iterdir())
        if [path.name for path in left] == ["__pycache__"]:
            shutil.rmtree(left[0])
        elif left:
            return
        folder.rmdir()
        folder = folder.parent


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
