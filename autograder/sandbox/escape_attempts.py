"""Attempts to escape from the sandbox: what they reach says more than a kernel's version.

harmless    touch nothing but files and sockets planted for them; tried at each start of a sandbox
dangerous   would hurt this machine if they got through; only `doctor` tries them, and only where
            every harmless one was stopped
"""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.inside.messages import ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.records import CellResult, Run
from autograder.sandbox import hoards
from autograder.sandbox.mounts import installed_with_the_grader
from autograder.temporary import temporary_folder

PLANTED_VARIABLE = "AUTOGRADER_PLANTED"
"""A variable of the grader's environment; libraries set the same others on both sides."""
STOPPED = "STOPPED"
_STOPS = "(OSError, ZeroDivisionError, ImportError, TypeError)"  # an empty folder has no file
# AF_VSOCK reaches the hypervisor; AF_NETLINK and AF_ALG, the kernel where it has been broken.
_OTHER_FAMILIES = ("40", "16", "38")
_DAEMON_SECONDS = 3600  # longer than any machine takes for a run that does not wait for it
_SECRET = "nobody may read this"
_HONEST = "import os, numpy\nprint(6 * 7, *(len(open(x.__file__).read()) > 9 for x in (os, numpy)))"

# A process inside may have the number of one outside. When it was started tells them apart; where
# /proc is closed, the number of its session. One that cannot be seen at all is tried, too.
_IS_OUTSIDE = """
def is_outside(pid, start_time, session):
    try:
        found = open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[19] == start_time
    except OSError:
        try:
            found = os.getsid(pid) == session
        except OSError:
            found = True
    return pid != os.getpid() and found
"""

Execute = Callable[[Sequence[str], Sequence[ProbeRequest]], Run]


@dataclass(frozen=True)
class Outcome:
    """One escape attempt, and whether it was stopped.

    Attributes:
        description: what was tried, in words.
        detail: what came of it, for an instructor.
    """

    name: str
    description: str
    stopped: bool
    detail: str = ""


@dataclass(frozen=True)
class EscapeAttempt:
    """Code for one cell; without `stopped`, it prints STOPPED if it got nowhere."""

    name: str
    description: str
    code: str
    stopped: Callable[[CellResult, float], bool] = lambda cell, seconds: STOPPED in cell.output


@dataclass(frozen=True)
class PlantedFiles:
    """What is planted outside for escape attempts to reach.

    Attributes:
        gradebook: a file that everybody on this machine may read and write.
        addresses: of a TCP socket, and of two of the machine's own, one with a path and one
            without.
    """

    gradebook: Path
    addresses: tuple[tuple[str, int], str, str]

    @property
    def is_intact(self) -> bool:
        """Whether the file is as it was, and alone."""
        try:
            names = {entry.name for entry in self.gradebook.parent.iterdir()}
            seen, text = self.gradebook.stat(), self.gradebook.read_text()
        except OSError:
            return False
        same = seen.st_mode & 0o777 == 0o666 and seen.st_mtime == 1e9 and text == _SECRET
        return same and names == {self.gradebook.name, "socket"}


@contextlib.contextmanager
def plant_files() -> Iterator[PlantedFiles]:
    """Plant a gradebook and three listeners."""
    with (
        contextlib.ExitStack() as ends,
        temporary_folder("planted") as folder,
        socket.socket() as tcp,
        socket.socket(socket.AF_UNIX) as with_path,
        socket.socket(socket.AF_UNIX) as without,
    ):
        folder.chmod(0o777)
        opened = os.open(folder, os.O_PATH)
        ends.callback(os.close, opened)
        gradebook = folder / "gradebook.db"
        gradebook.write_text(_SECRET)
        gradebook.chmod(0o666)
        os.utime(gradebook, (1e9, 1e9))
        tcp.bind(("127.0.0.1", 0))
        with_path.bind(f"/proc/self/fd/{opened}/socket")  # the path itself may be too long
        (folder / "socket").chmod(0o666)
        without.bind(f"\0{folder.name}")
        for listener in (tcp, with_path, without):
            listener.listen()
        yield PlantedFiles(gradebook, (tcp.getsockname(), f"{folder}/socket", f"\0{folder.name}"))


def prove(execute: Execute, private: Sequence[str] = ()) -> str:
    """Run the harmless attempts as one submission; say what got through, or "" if nothing did.

    An honest cell runs after them, and must.

    Args:
        private: files and folders that student code must find empty, or not at all.
    """
    with plant_files() as planted:
        attempts = [*harmless_attempts(planted), _read_private(private)]
        run = execute([*(attempt.code for attempt in attempts), _HONEST], [])
        *cells, honest = run.cells
        through = [
            attempt.description
            for attempt, cell in zip(attempts, cells, strict=True)
            if not attempt.stopped(cell, run.seconds)
        ]
        if not planted.is_intact:
            through.append("change the gradebook by any of these")
    if honest.output != "42 True True\n" or run.problems:
        return f"honest code does not run: {honest.error or '; '.join(run.problems)}"
    return f"student code can {'; '.join(through)}" if through else ""


def harmless_attempts(planted: PlantedFiles) -> list[EscapeAttempt]:
    """List the attempts on what is planted, and those that would change nothing."""
    file, beside = str(planted.gradebook), str(planted.gradebook) + ".new"
    others = [pid for pid in (os.getpid(), os.getppid()) if pid]  # process 1 has no parent
    return [
        EscapeAttempt("files", "read the gradebook", _try_each([file], "print(open(x).read())")),
        EscapeAttempt(
            "references",
            "import what was installed with the grader",
            "import glob, os, sys\n"
            "for prefix in ('/usr', '/usr/local', sys.base_prefix, sys.prefix):\n"
            "    sys.path += glob.glob(f'{prefix}/lib*/python3*/*-packages')\n"
            + _try_each(sorted(installed_with_the_grader()), "len(__import__(x).__file__)"),
        ),
        EscapeAttempt(
            "writing",
            "write, replace, cut or remove files",
            _try_each(
                [
                    f"open({file!r}, 'a')",
                    f"open({beside!r}, 'x')",
                    f"os.truncate({file!r}, 0)",
                    f"os.rename({file!r}, {beside!r})",
                    f"os.link({file!r}, 'gradebook')",
                    f"os.symlink('/', {beside!r})",
                    f"os.remove({file!r})",
                ],
                "eval(x)",
            ),
        ),
        EscapeAttempt(
            "owner",
            "change whose a file is, who may read it, and how old it seems",
            _try_each(
                [f"os.chmod({file!r}, 0)", f"os.utime({file!r})", f"os.chown({file!r}, 1, 1)"],
                "eval(x)",
            ),
        ),
        EscapeAttempt(
            "network",
            "open a connection",
            "import socket\n"
            + _try_each(
                [f"socket.create_connection({planted.addresses[0]!r}, 1)"]
                + [
                    f"socket.socket({kind}).connect({address!r})"
                    for kind, address in (
                        ("socket.AF_INET", planted.addresses[0]),
                        ("socket.AF_UNIX", planted.addresses[1]),
                        ("socket.AF_UNIX", planted.addresses[2]),
                    )
                ],
                "eval(x)",
            ),
        ),
        EscapeAttempt(
            "sockets",
            "open a socket to the machine below this one, or to a rarely used part of the kernel",
            "import socket\n" + _try_each(_OTHER_FAMILIES, "socket.socket(int(x), 2).close()"),
        ),
        EscapeAttempt(
            "processes",
            "signal, slow down or look into processes of others",
            "import resource\n"
            + _IS_OUTSIDE
            + _try_each(
                [
                    f"{call} if is_outside({_marks(pid)}) else 1 / 0"
                    for pid in others
                    for call in (
                        f"os.kill({pid}, 0)",
                        f"resource.prlimit({pid}, resource.RLIMIT_NOFILE)",
                        f"os.sched_setaffinity({pid}, os.sched_getaffinity({pid}))",
                        f"open('/proc/{pid}/mem', 'rb')",
                    )
                ],
                "eval(x)",
            ),
        ),
        EscapeAttempt(
            "watching",
            "see, or leave a mark for others, when a file that all may read is read, and by whom",
            "import ctypes, fcntl, os, socket\nlibc = ctypes.CDLL(None)\n"
            "shared = os.open(os.__file__, os.O_RDONLY)\n"
            + _try_each(
                [
                    "1 / (libc.inotify_init1(0) + 1)",
                    "1 / (libc.fanotify_init(0x200, 0) + 1)",
                    "fcntl.fcntl(os.open('/usr', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)",
                    "fcntl.flock(shared, fcntl.LOCK_SH | fcntl.LOCK_NB)",
                    "fcntl.lockf(shared, fcntl.LOCK_SH | fcntl.LOCK_NB, 1)",
                    "os.posix_fadvise(shared, 0, 0, os.POSIX_FADV_NORMAL)",
                    "os.preadv(shared, [bytearray(9)], 0, os.RWF_NOWAIT)",
                    "1 / (libc.mincore(None, ctypes.c_size_t(0), None) + 1)",
                    "socket.socket().bind(('127.0.0.1', 0))",
                ],
                "eval(x)",
            ),
        ),
        EscapeAttempt(
            "rights",
            "become root, or change what it sees as root folder",
            _try_each(["os.setuid(0)", "os.chroot('/tmp')"], "eval(x)"),
        ),
    ]


def _read_private(names: Sequence[str]) -> EscapeAttempt:
    content = "os.listdir(x) if os.path.isdir(x) else open(x, 'rb').read()"
    return EscapeAttempt(
        "private",
        "read the course, the output, the submissions or the gradebook",
        _try_each(names, f"1 / len({content})"),
    )


def dangerous_attempts(limits: Limits) -> list[EscapeAttempt]:
    """List the attempts on the machine itself, for a sandbox with these limits."""
    project = Path(__file__).parents[2]
    paths = ["/etc/shadow", str(Path.home() / ".ssh"), str(project / "autograder")]
    return [
        EscapeAttempt(
            "course",
            "read the home folder, the course",
            _try_each(paths, "os.listdir(x) if os.path.isdir(x) else open(x).read()"),
        ),
        EscapeAttempt(
            "system",
            "change the machine's own folders",
            _try_each(["/usr", "/etc", "/", "/dev", "/opt"], "open(x + '/escaped', 'x')"),
        ),
        EscapeAttempt(
            "environment",
            "read the grader's environment variables",
            f"import os\nprint(os.environ.get({PLANTED_VARIABLE!r}) or {STOPPED!r})",
        ),
        *_bombs(limits),
    ]


def _bombs(limits: Limits) -> list[EscapeAttempt]:
    return [
        EscapeAttempt(
            "fork bomb",
            "start processes without end",
            "import os, signal\nn = 0\ntry:\n    while n < 500:\n"
            "        if os.fork() == 0:\n            signal.pause()\n        n += 1\n"
            f"except OSError:\n    print({STOPPED!r})",
            lambda cell, seconds: STOPPED in cell.output or hoards.was_ended_by_memory(cell),
        ),
        EscapeAttempt(
            "memory bomb",
            "take memory without end",
            "hoard = [bytearray(b'1') * (1 << 26) for _ in range(64)]",
            lambda cell, seconds: cell.error is not None,
        ),
        *(
            EscapeAttempt(
                "hoard",
                f"hold more memory than is allowed: {name}",
                hoards.hoarding(name, limits.memory_bytes),
                lambda cell, seconds: hoards.held(cell) < limits.memory_bytes,
            )
            for name in hoards.HOARDS
        ),
        EscapeAttempt(
            "disk bomb",
            "fill the disk",
            "import signal\nfor n in range(64):\n    open(f'{n}', 'wb').write(bytes(1 << 20))\n"
            "print('FULL', flush=True)\nsignal.pause()",
            lambda cell, seconds: cell.output != "FULL\n" or hoards.was_ended_by_memory(cell),
        ),
        EscapeAttempt(
            "disk bomb",
            "fill the disk with files that have no name any more",
            "import os, signal\nhoard = []\nfor n in range(64):\n"
            "    hoard.append(open('x', 'wb', buffering=0))\n    os.remove('x')\n"
            "    hoard[-1].write(bytes(1 << 20))\nprint('FULL', flush=True)\nsignal.pause()",
            lambda cell, seconds: cell.output != "FULL\n" or hoards.was_ended_by_memory(cell),
        ),
        EscapeAttempt(
            "output bomb",
            "print without end",
            "while True: print('endless ' * 1000)",
            lambda cell, seconds: len(cell.output) < 2 * limits.output_bytes,
        ),
        EscapeAttempt(
            "time",
            "loop where no exception reaches",
            "sum(range(10 ** 12))",
            lambda cell, seconds: (
                seconds < limits.wall_factor * limits.submission_seconds and cell.error is not None
            ),
        ),
        EscapeAttempt(
            "daemon",
            "outlive grading",
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
            f"    if os.fork() == 0:\n        time.sleep({_DAEMON_SECONDS})\n    os._exit(0)",
            lambda cell, seconds: seconds < _DAEMON_SECONDS,
        ),
        EscapeAttempt(
            "kill",
            "kill everything in reach",
            "import os\nos.kill(-1, 9)",
            lambda cell, seconds: True,
        ),
    ]


def _marks(pid: int) -> str:
    """Return, as arguments, a process's number, when it was started ("" if hidden), its session."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        started = ""
    return f"{pid}, {started!r}, {os.getsid(pid)}"


def _try_each(things: Sequence[str], expression: str) -> str:
    """Return code that prints STOPPED if the expression fails for every thing."""
    return (
        f"import os\nfound = []\nfor x in {list(things)!r}:\n    try:\n        {expression}\n"
        f"        found.append(x)\n    except {_STOPS}:\n        pass\n"
        f"print(found or {STOPPED!r})\n"
    )
