"""What student code sees of this machine: the folders that are mounted, and what is hidden in them.

Inside are /usr and the libraries, the Python that runs the grader with its packages, the folder
`autograder/inside`; all read-only. Outside stay the project, the home folder, the environment, the
network, other processes and every other file of the machine. What is private is hidden even where
it lies within a folder that is mounted, as a course below /usr or an installed reference does.
"""

import contextlib
import importlib.metadata
import os
import re
import site
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from autograder.inside.process_limits import HOME, WRITABLE
from autograder.records import GraderError
from autograder.sandbox import bait

_GRADER_INSIDE = "/run/inside"
_PACKAGES_INSIDE = "/opt/packages"

FILES_INSIDE = "/opt/files"
"""Where the files lie that were handed out."""

FILES = "files"
"""Where they lie in a sandbox's own folder, if there are any."""

_WORKER = Path(__file__).parents[1] / "inside"
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime")
_ALSO_INSIDE = (*WRITABLE, "/dev", "/proc", "/etc/passwd", "/etc/group", _GRADER_INSIDE)
_SETTINGS = ("etc", "pip.conf", ".condarc", ".npmrc", ".jupyter")
_MODULES = (".py", ".pyc", ".so")
_ARCHIVES = (".egg", ".pyz", ".whl", ".zip")
_PASSWD = "student:x:1000:1000:student:/home/student:/bin/bash\n"
_GROUP = "student:x:1000:\n"


def environment() -> dict[str, str]:
    """Return every environment variable that exists inside."""
    return {
        "PATH": f"{Path(_python()).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": HOME,
        "USER": "student",
        "LOGNAME": "student",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",  # the same notebook prints the same set twice
        "PYTHONDONTWRITEBYTECODE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
    }


def homes(folder: Path) -> dict[str, str]:
    """Return the variables that name folders, where the usual ones are not mounted.

    Args:
        folder: the sandbox's own.
    """
    return {"HOME": f"{folder}/work", "TMPDIR": f"{folder}/work"}


def plain_command(folder: Path, control_fd: int) -> list[str]:
    """Return the command that starts the server without bubblewrap.

    Args:
        folder: the sandbox's own; a package `autograder` that holds `inside` alone is added to it.
    """
    package = folder / "grader" / "autograder"
    if not package.exists():
        package.mkdir(parents=True)
        (package / "__init__.py").touch()  # or an installed grader would come first
        (package / "inside").symlink_to(_WORKER)
    packages = [str(folder) for folder in _package_folders()]
    return _command(str(package.parent), packages, control_fd)


def readable_paths(private: Sequence[Path] = ()) -> list[str]:
    """List what may be read without bubblewrap: libraries and Python, less what is private.

    Raises:
        GraderError: if something private cannot be hidden.
    """
    readable = [*_libraries(), *_package_folders()]
    hidden = {path for _, path in visible_private(((each, "") for each in readable), private)}
    paths = (path for each in readable for path in _without(each.resolve(), hidden))
    # A rule for a link would open what it leads to, wherever that lies.
    return [str(path) for path in paths if not path.is_symlink()]


def visible_names(private: Sequence[Path]) -> list[str]:
    """List the paths by which student code could reach what is private, if it were not hidden."""
    binds = [(path, str(path)) for path in _libraries()]
    binds += [(path, f"{_PACKAGES_INSIDE}/{i}") for i, path in enumerate(_package_folders())]
    made = {Path(target) for _, target in binds} | {Path(path) for path in _ALSO_INSIDE}
    names = {target for target, _ in visible_private(binds, private)}
    for path in (*private, *copies(installed_with_the_grader()), *settings()):
        names.update(map(str, _without(path.absolute(), made)))
    return sorted(names)


def _without(path: Path, hidden: Collection[Path]) -> Iterator[Path]:
    """Cover a folder by as few paths as will do without any hidden one."""
    if path in hidden:
        return
    if not any(each.is_relative_to(path) for each in hidden):
        yield path
        return
    for entry in path.iterdir():
        yield from _without(entry, hidden)


def visible_private(
    binds: Iterable[tuple[Path, str]], private: Iterable[Path]
) -> Iterator[tuple[str, Path]]:
    """Find what is private within mounted folders: where it is visible inside, and what it is.

    Raises:
        GraderError: if it cannot be hidden.
    """
    ours = (*copies(installed_with_the_grader()), *settings())
    paths = {path.resolve() for path in (*private, *ours)}
    for source, target in binds:
        folder = source.resolve()
        # Within this folder only: site-packages may lie below a private folder, and hold private
        # packages that hiding that folder does not hide here.
        within = {path for path in paths if path.is_relative_to(folder)}
        for path in sorted(path for path in within if within.isdisjoint(path.parents)):
            if path == folder:
                raise GraderError(
                    f"{path} must be hidden from student code and holds what student code needs to "
                    "run: choose another folder"
                )
            if not path.exists():
                raise GraderError(
                    f"{path} must be hidden from student code, which may read {folder}, and does "
                    "not exist yet: create it first, or choose a place elsewhere"
                )
            yield os.path.join(target, path.relative_to(folder)), path


def command_inside(control_fd: int) -> list[str]:
    """Return the command that starts the server where these folders are mounted."""
    packages = [f"{_PACKAGES_INSIDE}/{index}" for index in range(len(_package_folders()))]
    return _command(_GRADER_INSIDE, packages, control_fd)


def _command(grader: str, packages: Sequence[str], control_fd: int) -> list[str]:
    """Return the server's command: it sees the packages that the grader sees, and no others."""
    start = (
        "import sys; "
        "sys.path[:] = [x for x in sys.path if not x.endswith(('site-packages', 'dist-packages'))]"
        f" + {list(packages)!r}; sys.path.insert(0, {grader!r}); "
        f"from autograder.inside.worker import serve; serve({control_fd})"
    )
    return [_python(), "-P", "-s", "-c", start]


def _python() -> str:
    """Return the interpreter itself: a virtual environment's link to it is not mounted."""
    return os.path.realpath(sys.executable)


@cache
def _package_folders() -> tuple[Path, ...]:
    """Folders of installed packages that this interpreter uses, in its order."""
    candidates = {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(Path(folder) for folder in sys.path if folder in candidates)


def read_only(folder: Path) -> Iterator[tuple[Path, str]]:
    """Name what is visible inside, and where."""
    etc = folder / "etc"
    etc.mkdir(exist_ok=True)
    for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("empty", "")):
        (etc / name).write_text(text)
        (etc / name).chmod(0o644)
    for path in _libraries():
        yield path, str(path)
    yield etc / "passwd", "/etc/passwd"
    yield etc / "group", "/etc/group"
    for place in bait.PLACES:
        yield folder / bait.NAME, place
    for index, packages in enumerate(_package_folders()):
        yield packages, f"{_PACKAGES_INSIDE}/{index}"
    yield _WORKER, f"{_GRADER_INSIDE}/autograder/inside"
    if (folder / FILES).is_dir():
        yield folder / FILES, FILES_INSIDE


def _libraries() -> Iterator[Path]:
    """Name the folders of programs and libraries, and the interpreter's own."""
    system = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
    for path in map(Path, (*system, *(f"/etc/{name}" for name in _ETC))):
        if path.exists():
            yield path
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        yield Path(sys.base_prefix)


def settings() -> tuple[Path, ...]:
    """Return what programs below the mounted folders are told by, which no student code needs.

    Administrators write there where a gradebook is, and its password (`etc/jupyter`), or that of a
    registry of packages.
    """
    folders = {path.resolve() for path in (*_libraries(), Path("/usr/local")) if path.is_dir()}
    named = (folder / name for folder in sorted(folders) for name in _SETTINGS)
    told = (each for path in named if path.exists() for each in _all_but_fonts(path))
    return tuple(dict.fromkeys(path.resolve() for path in told))


def _all_but_fonts(path: Path) -> list[Path]:
    """Cover a folder but for what a conda environment draws letters by; it holds no secrets."""
    if os.path.isdir(path / "fonts") and os.access(path, os.R_OK):
        # What a link leads to lies elsewhere, and may be needed there.
        return [each for each in path.iterdir() if each.name != "fonts" and not each.is_symlink()]
    return [path]


def copies(names: Iterable[str]) -> tuple[Path, ...]:
    """Return every copy of these packages in what is mounted, wherever Python could import it from.

    Where a package is installed, and graded from a checkout, the checkout's is not the only one.
    """
    folders = tuple(path for path in (*_libraries(), *_package_folders()) if path.is_dir())
    importable = _importable(frozenset(path.resolve() for path in folders))
    return tuple(path for name in sorted(set(names)) for path in importable.get(name, ()))


@cache
def installed_with_the_grader() -> frozenset[str]:
    """Name the packages of the distribution that installed the grader: they hold answers."""
    names = {"autograder", "assignments"}
    for distribution in importlib.metadata.distributions():
        packages = set((distribution.read_text("top_level.txt") or "").split())
        names |= packages if "autograder" in packages else set()
    return frozenset(names)


@cache
def _importable(folders: frozenset[Path]) -> dict[str, list[Path]]:
    """Map each name that could be imported from a folder below these to where it lies.

    What lies within a package belongs to it. Of 15,000 folders of a system it takes 0.2 s.
    """
    places: dict[str, list[Path]] = {}
    waiting = [path for path in folders if folders.isdisjoint(path.parents)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                inner = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            continue
        files = [name for name, is_folder in inner if not is_folder]
        is_package = any(name.startswith("__init__.") for name in files)
        if is_package or any(name.endswith(_MODULES) for name in files):
            places.setdefault(folder.name, []).append(folder)
        if is_package:
            continue
        waiting += [folder / name for name, is_folder in inner if is_folder]
        for name in files:
            if name.endswith(_MODULES):
                places.setdefault(name.partition(".")[0], []).append(folder / name)
            elif name.endswith(_ARCHIVES):
                for packed in _names_in(folder / name):
                    places.setdefault(packed, []).append(folder / name)
    return places


def _names_in(archive: Path) -> set[str]:
    """Return what could be imported from an archive."""
    with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(archive) as opened:
        return {re.split(r"[/.]", name)[0] for name in opened.namelist()}
    return set()
