"""The command that starts the server in bubblewrap, and the folders that it mounts.

Inside are /usr and the libraries, the Python that runs the grader with its packages, the folder
`autograder/inside`; all read-only. Outside stay the project, the home folder, the environment, the
network, other processes and every other file of the machine. What is private is hidden even where
it lies within a folder that is mounted, as a course below /usr or an installed reference does.
"""

import os
import shutil
import site
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from autograder.inside.process_limits import HOME, WRITABLE, Limits
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox import bait

GRADER_INSIDE = "/run/inside"
_PACKAGES_INSIDE = "/opt/packages"
_WORKER = Path(__file__).parents[1] / "inside"
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime")
INSTALL = (
    "On Debian or Ubuntu: sudo apt-get install bubblewrap (0.8 or newer); inside a container user "
    "namespaces must be allowed, or Landlock (Linux 6.12, or as root 6.2). On macOS or Windows "
    "grade inside a Linux machine or container. `autograder doctor` tries it out. To "
    "grade people whom you trust with this account without isolation, use --no-sandbox."
)
_ALSO_INSIDE = (*WRITABLE, "/dev", "/proc", "/etc/passwd", "/etc/group", GRADER_INSIDE)
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
    start = _start(str(package.parent), packages, control_fd)
    return [_python(), "-P", "-s", "-c", start]


def bubblewrap_command(
    folder: Path, limits: Limits, control_fd: int, private: Sequence[Path] = ()
) -> list[str]:
    """Return the command that starts the server in bubblewrap.

    Args:
        folder: the sandbox's own; `etc` is added to it.
        private: files and folders to hide.

    Raises:
        SandboxUnavailable: if bubblewrap is missing or too old.
        GraderError: if something private cannot be hidden.
    """
    arguments = [_bubblewrap(), "--die-with-parent", "--new-session", "--unshare-all"]
    arguments += ["--hostname", "notebook", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # Root needs no user namespace here. The server gives these up before it imports anything.
        arguments.remove("--unshare-all")
        arguments += [f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try")]
        arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        arguments += ["--uid", "1000", "--gid", "1000"]
    arguments += ["--clearenv"]
    for name, value in environment().items():
        arguments += ["--setenv", name, value]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    binds = list(_read_only(folder))
    for parent in sorted({parent for _, target in binds for parent in Path(target).parents}):
        arguments += ["--dir", str(parent)]  # open to all; made by --ro-bind they would not be
    for source, target in binds:
        arguments += ["--ro-bind", str(source), target]
    for target, path in _visible_private(binds, private):
        if path.is_dir():
            arguments += ["--tmpfs", target, "--remount-ro", target]
        else:
            arguments += ["--ro-bind", str(folder / "etc" / "empty"), target]
    for target in WRITABLE:
        arguments += ["--perms", "1777", "--size", str(limits.disk_bytes), "--tmpfs", target]
    arguments += ["--chdir", "/", "--remount-ro", "/dev", "--remount-ro", "/"]
    packages = [f"{_PACKAGES_INSIDE}/{index}" for index in range(len(_package_folders()))]
    start = _start(GRADER_INSIDE, packages, control_fd)
    return [*arguments, "--", _python(), "-P", "-s", "-c", start]


def readable_paths(private: Sequence[Path] = ()) -> list[str]:
    """List what may be read without bubblewrap: libraries and Python, less what is private.

    Raises:
        GraderError: if something private cannot be hidden.
    """
    readable = [*_libraries(), *_package_folders()]
    hidden = {path for _, path in _visible_private(((each, "") for each in readable), private)}
    return [str(path) for each in readable for path in _without(each.resolve(), hidden)]


def visible_names(private: Sequence[Path]) -> list[str]:
    """List the paths by which student code could reach what is private, if it were not hidden."""
    binds = [(path, str(path)) for path in _libraries()]
    binds += [(path, f"{_PACKAGES_INSIDE}/{i}") for i, path in enumerate(_package_folders())]
    made = {Path(target) for _, target in binds} | {Path(path) for path in _ALSO_INSIDE}
    names = {target for target, _ in _visible_private(binds, private)}
    for path in (*private, *_installed_copies()):
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


def _visible_private(
    binds: Iterable[tuple[Path, str]], private: Iterable[Path]
) -> Iterator[tuple[str, Path]]:
    """Find what is private within mounted folders: where it is visible inside, and what it is.

    Raises:
        GraderError: if it cannot be hidden.
    """
    paths = {path.resolve() for path in (*private, *_installed_copies())}
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


def _start(grader: str, packages: Sequence[str], control_fd: int) -> str:
    """Return the server's first lines: it sees the packages that the grader sees, and no others."""
    return (
        "import sys; "
        "sys.path[:] = [x for x in sys.path if not x.endswith(('site-packages', 'dist-packages'))]"
        f" + {list(packages)!r}; sys.path.insert(0, {grader!r}); "
        f"from autograder.inside.worker import serve; serve({control_fd})"
    )


def _python() -> str:
    """Return the interpreter itself: a virtual environment's link to it is not mounted."""
    return os.path.realpath(sys.executable)


@cache
def _bubblewrap() -> str:
    program = shutil.which("bwrap")
    if sys.platform != "linux" or program is None:
        raise SandboxUnavailable("bubblewrap is not installed")
    options = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    if "--size" not in options:
        raise SandboxUnavailable(f"bubblewrap at {program} is too old; 0.8 is needed")
    return program


@cache
def _package_folders() -> tuple[Path, ...]:
    """Folders of installed packages that this interpreter uses, in its order."""
    candidates = {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(Path(folder) for folder in sys.path if folder in candidates)


def _read_only(folder: Path) -> Iterator[tuple[Path, str]]:
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
    yield _WORKER, f"{GRADER_INSIDE}/autograder/inside"


def _libraries() -> Iterator[Path]:
    """Name the folders of programs and libraries, and the interpreter's own."""
    system = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
    for path in map(Path, (*system, *(f"/etc/{name}" for name in _ETC))):
        if path.exists():
            yield path
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        yield Path(sys.base_prefix)


def _installed_copies() -> Iterator[Path]:
    """Name installed copies of the grader and of assignments: they are always private."""
    for packages in _package_folders():
        for name in ("autograder", "assignments"):
            if (packages / name).is_dir():
                yield packages / name
