"""Files that students get beside a set's notebook: data, helper modules, pictures.

    <set>/files/data.csv ──► beside the notebook, wherever it goes: release, edition, workspace
                         ├─► the sandbox, to be read and not changed (`inside.beside`)
                         └─► a folder of their own, where the set's checks run

So a cell, a visible test and a reference version open `data.csv` and import `helpers` alike. It is
always the course's copy that is read, whatever a student has made of theirs.
"""

import contextlib
import itertools
import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import NoReturn

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
_NEEDED_HERE = {"autograder", "IPython", "matplotlib", "numpy", "torch"}


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
        rule = _broken_rule(path, name) or _looks_like(name, known)
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
    known: dict[str, str] = {}
    left = {
        name: rule
        for name, path in of.items()
        if path.suffix not in _LEFT_OUT
        and (rule := _broken_rule(path, name) or _looks_like(name, known))
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

    before, names = os.getcwd(), modules_in(files)
    modules = _modules_of(files)
    others = _taken_out(names)
    with temporary_folder("files") as folder:
        put(files, folder / FOLDER)
        os.chdir(folder / FOLDER)
        sys.path.insert(0, modules.folder)
        sys.modules.update(modules.imported)
        try:
            yield
        finally:
            os.chdir(before)
            with contextlib.suppress(ValueError):
                sys.path.remove(modules.folder)
            modules.imported = _taken_out(names)
            sys.modules.update(others)


@dataclass
class _Modules:
    """Modules of some files, imported from a copy that lasts as long as this process.

    A check keeps what it has imported, and that may open what lies beside it whenever it is called.
    """

    files: Files
    folder: str
    closing: contextlib.ExitStack  # were it dropped in a fork, that would delete the folder
    imported: dict[str, ModuleType] = field(default_factory=dict)


_all_modules: list[_Modules] = []


def _modules_of(files: Files) -> _Modules:
    for known in _all_modules:
        if known.files == files:
            return known
    from multiprocessing.util import Finalize

    from autograder.temporary import temporary_folder

    closing = contextlib.ExitStack()
    folder = put(files, closing.enter_context(temporary_folder("modules")) / FOLDER)
    Finalize(None, closing.close, exitpriority=0)
    _all_modules.append(_Modules(dict(files), str(folder), closing))
    return _all_modules[-1]


def modules_in(files: Files) -> set[str]:
    """Name what can be imported from files that lie in the working folder."""
    of_python = [name for name in files if name.endswith(".py")]
    return {name.partition("/")[0].removesuffix(".py") for name in of_python}


def python_in(files: Files) -> list[str]:
    """Return the code of modules among files."""
    return [data.decode("utf-8", "replace") for n, data in files.items() if n.endswith(".py")]


def _taken_out(modules: set[str]) -> dict[str, ModuleType]:
    loaded = [name for name in sys.modules if name.partition(".")[0] in modules]
    return {name: sys.modules.pop(name) for name in loaded}


def _below(folder: Path) -> Iterator[Path]:
    """Yield what lies in a folder, links and other things included, in order of their names.

    Raises:
        GraderError: if a folder cannot be read.
    """
    if not folder.exists():
        return
    paths = []
    for above, folders, names in os.walk(folder, onerror=_refuse):
        inner = [one for one in folders if os.path.islink(os.path.join(above, one))]
        paths += [Path(above, name) for name in [*names, *inner]]
    for path in sorted(paths):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if not hidden and path.suffix != ".pyc":
            yield path


def _refuse(error: OSError) -> NoReturn:
    raise GraderError(f"{error.filename} cannot be read: {error.strerror}") from None


def _broken_rule(path: Path, name: str) -> str:
    if path.is_symlink():
        return "it is a link; put the file itself there"
    if not path.is_file():
        return "it is no plain file"
    if any(part.lower().endswith(".ipynb") for part in name.split("/")):
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


def _looks_like(name: str, known: dict[str, str]) -> str:
    """Say which other name some system takes for the same, a folder's included; note this one."""
    parts = name.split("/")
    for one in map("/".join, itertools.accumulate([[part] for part in parts])):
        other = known.setdefault(unicodedata.normalize("NFC", one.casefold()), one)
        if other != one:
            return f"{one} differs from {other} in capitals alone, or in how accents are spelt"
    return ""


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
        _refuse(error)
