"""Files that students get beside a set's notebook: data, helper modules, pictures.

    <set>/files/data.csv ──► beside the notebook, wherever it goes: release, edition, workspace
                         ├─► the sandbox, to be read and not changed (`inside.beside`)
                         └─► a folder of their own, where the set's checks run

So a cell, a visible test and a reference version open `data.csv` and import `helpers` alike. It is
always the course's copy that is read, whatever a student has made of theirs.
"""

import contextlib
import importlib
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path
from types import ModuleType

from autograder.records import GraderError

FOLDER = "files"
"""The folder in a set's own that holds them."""

MOST_BYTES = 16 << 20
MOST_FILES = 1000

Files = Mapping[str, bytes]
"""What each holds, by its path with slashes, as it is named in the notebook."""

_LEFT_OUT = {".ipynb", ".pyc"}  # of a course for nbgrader: notebooks, and what Python has made
# What no file can be called everywhere: students have Windows, too.
_NO_NAME = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]|[ .]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.I)
# What we write beside notebooks: rules for assistants, pages about a set, its feedback.
_OURS = re.compile(r"agents\.md|mistakes\.html|rubric\.html|.*-feedback\.html", re.I)
# A time of the last access that lies ahead is left as it is by the kernel (relatime).
_AHEAD_SECONDS = 10 * 365 * 86_400
_NEEDED_HERE = {"autograder", "IPython", "numpy", "torch"}


def read_files(folder: Path) -> dict[str, bytes]:
    """Read a set's folder of files; there are none if it does not exist.

    What is hidden, as editors and systems leave it, and Python's own caches are no part of it.

    Raises:
        GraderError: if a file is a link, no plain file, another notebook, or hides a module; if it
            has a name that some system refuses; if there are too many, or too large; says which.
    """
    if folder.is_symlink():
        raise GraderError(f"{folder} is a link; it must be a folder of its own")
    known: dict[str, str] = {}
    paths = list(_below(folder))
    _refuse_too_many(folder, paths)
    for path in paths:
        name = path.relative_to(folder).as_posix()
        rule = _broken_rule(path, name)
        if not rule and known.setdefault(name.casefold(), name) != name:
            rule = f"it differs from {known[name.casefold()]} in capitals alone"
        if rule:
            raise GraderError(f"{path} cannot be handed out: {rule}")
    return _contents(folder, [path for path in paths if path.is_file()])


def files_beside(folder: Path) -> dict[str, bytes]:
    """Read the files beside a notebook that was written for nbgrader, as nbgrader hands them out.

    Links and other notebooks are left out.

    Raises:
        GraderError: if they cannot be read, or are too large.
    """
    plain = (path for path in _below(folder) if path.is_file() and not path.is_symlink())
    return _contents(folder, [path for path in plain if path.suffix not in _LEFT_OUT])


def to_hand_out(folder: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """Read what lies beside a notebook for nbgrader as far as a set with checks can hand it out.

    Returns:
        The files; and of each that cannot be handed out, why.

    Raises:
        GraderError: if they cannot be read, are too many, or too large.
    """
    of = {path.relative_to(folder).as_posix(): path for path in _below(folder)}
    _refuse_too_many(folder, of)
    left = {
        name: rule
        for name, path in of.items()
        if path.suffix not in _LEFT_OUT and (rule := _broken_rule(path, name))
    }
    files = files_beside(folder)
    return {name: data for name, data in files.items() if name not in left}, left


def put(files: Files, folder: Path) -> Path:
    """Write files into a folder that is empty, or not there yet, to be read by all; return it."""
    made: set[Path] = set()
    for name, data in files.items():
        path = folder / name
        for above in reversed(path.relative_to(folder).parents):
            if not (folder / above).is_dir():
                (folder / above).mkdir()
                (folder / above).chmod(0o755)
                made.add(folder / above)
        path.write_bytes(data)
        path.chmod(0o444)
        made.add(path)
    for path in made:  # whoever reads one leaves no time of it for the next to see
        os.utime(path, (time.time() + _AHEAD_SECONDS, path.stat().st_mtime))
    return folder


@contextlib.contextmanager
def beside(files: Files) -> Iterator[None]:
    """Work for a while where a notebook would: the files lie in the working folder.

    It is a copy, so that nothing that is called meanwhile can change the course's own. Modules
    among them can be imported; afterwards no other set's code meets them. Nothing happens if there
    are no files.
    """
    if not files:
        yield
        return
    from autograder.temporary import temporary_folder  # which students have not who need the rest

    before, modules = os.getcwd(), modules_in(files)
    others = _taken_out(modules)
    with temporary_folder("files") as folder:
        here = str(folder / FOLDER)
        put(files, Path(here))
        sys.path.insert(0, here)
        importlib.invalidate_caches()
        os.chdir(here)
        try:
            yield
        finally:
            os.chdir(before)
            with contextlib.suppress(ValueError):
                sys.path.remove(here)
            for place in [one for one in sys.path_importer_cache if one.startswith(here)]:
                del sys.path_importer_cache[place]
            _taken_out(modules)
            sys.modules.update(others)


def modules_in(files: Files) -> set[str]:
    """Name what can be imported from files that lie in the working folder."""
    of_python = [name for name in files if name.endswith(".py")]
    return {name.partition("/")[0].removesuffix(".py") for name in of_python}


def _taken_out(modules: set[str]) -> dict[str, ModuleType]:
    loaded = [name for name in sys.modules if name.partition(".")[0] in modules]
    return {name: sys.modules.pop(name) for name in loaded}


def _below(folder: Path) -> Iterator[Path]:
    """Yield what lies in a folder, links and other things included, in order of their names."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if not hidden and path.suffix != ".pyc" and (path.is_symlink() or not path.is_dir()):
            yield path


def _broken_rule(path: Path, name: str) -> str:
    if path.is_symlink():
        return "it is a link; put the file itself there"
    if not path.is_file():
        return "it is no plain file"
    if path.suffix == ".ipynb":
        return "another notebook is a set of its own"
    if _OURS.fullmatch(name):
        return "a file of that name is written beside notebooks"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is no UTF-8"
    if any(map(_NO_NAME.search, name.split("/"))):
        return "some system cannot have a file of that name"
    if clash := modules_in({name: b""}) & ({*sys.stdlib_module_names} | _NEEDED_HERE):
        return f"it would be imported instead of the module {min(clash)}"
    return ""


def _refuse_too_many(folder: Path, files: Sized) -> None:
    if len(files) > MOST_FILES:
        raise GraderError(f"{folder} hands out {len(files)} files; at most {MOST_FILES} can be")


def _contents(folder: Path, paths: list[Path]) -> dict[str, bytes]:
    try:
        n_bytes = sum(path.stat().st_size for path in paths)
        if n_bytes > MOST_BYTES:
            raise GraderError(
                f"the files that {folder} hands out have {n_bytes} bytes; at most {MOST_BYTES} can "
                "be put into the sandbox"
            )
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    except OSError as error:
        raise GraderError(f"{error.filename} cannot be read: {error.strerror}") from None
