"""A student edition that was unpacked over an older one: take away what the newer one has not.

To unpack a zip file replaces and adds, and takes nothing away: a module or a chapter that the
course has dropped would stay, to be imported or read. So each edition brings a list of its files
under a name of its own, and says which list is the newest. The standard library is all that this
needs.
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from autograder.authoring.workspace import WORK

LISTS = ".editions"
"""The folder of the lists, in an edition."""

_NEWEST = "newest"  # names the list of the edition that was unpacked last


def lists(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what is to be packed beside these files, so that a later edition knows them."""
    digests = {path: _digest(data) for path, data in sorted(files.items())}
    listed = json.dumps(digests, indent=0).encode()
    name = f"{_digest(listed)[:16]}.json"
    return {f"{LISTS}/{name}": listed, f"{LISTS}/{_NEWEST}": name.encode()}


def clean(folder: Path) -> list[str]:
    """Delete what an earlier edition has put here, the newest has not, and nobody has changed.

    Returns:
        A line that says how many files went, and one for each that stays because it was changed.
    """
    place = folder / LISTS
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


def _read(path: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return {str(name): str(digest) for name, digest in found.items()}
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
