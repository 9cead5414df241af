"""The ways in which one submission is closed off from everything else, best first.

    Nested    in bubblewrap's room: process, mount and IPC namespaces of its own, empty folders
    Fresh     in bubblewrap's room, which serves this one submission and is then torn down
    Apart     without namespaces: another user where the grader is root, else Landlock alone
    Open      not at all, for people who are trusted

A warden asks its enclosure to `prepare` before it forks the session, the session `enter`s it for
good before any student code runs, and the warden watches whether it `overflows` and `end`s it.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from autograder.inside import landlock, process_limits, seccomp
from autograder.inside.process_limits import WRITABLE, Limits

# Where less is left on the disk, a submission without a disk of its own is ended.
_DISK_RESERVE = 512 << 20
_MOST_FILES = 16384
_SWEEP_SECONDS = 0.0005
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Enclosure(Protocol):
    """What a warden and a session ask of their enclosure.

    Attributes:
        isolation: what it consists of, in words.
        reusable: whether another submission may follow in the same server.
    """

    isolation: str
    reusable: bool

    def prepare(self) -> None:
        """Do in the warden what must be done before it forks the session."""

    def enter(self) -> None:
        """Close the session off; raises OSError where that fails, and then nothing may run."""

    def overflows(self, outside: Iterable[int]) -> bool:
        """Whether the session holds more than it may; `outside` are processes not of it."""

    def end(self, session: int) -> int:
        """End every process of the session, leave nothing of it, return its exit status."""


def build(settings: dict[str, Any], limits: Limits) -> Enclosure:
    """Return the enclosure for what the grader has asked.

    Raises:
        OSError: if this machine cannot have it; says why.
    """
    if settings["tier"] == "none":
        return Open()
    if settings["tier"] == "B":
        apart = Apart(limits, settings["become"], settings["readable"], settings["work"])
        if not works(apart):
            raise OSError("this machine lets nobody become another user, or refuses Landlock")
        return apart
    nested = Nested(limits)
    return nested if settings["tier"] == "A" and works(nested) else Fresh(limits)


class Open:
    """No wall at all."""

    isolation = "none: student code ran with the grader's own rights"
    reusable = True

    def prepare(self) -> None:
        """Do nothing."""

    def enter(self) -> None:
        """Do nothing."""

    def overflows(self, outside: Iterable[int]) -> bool:
        """Let it have what it takes."""
        return False

    def end(self, session: int) -> int:
        """End the session and its process group."""
        for end in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError):
                end(session, signal.SIGKILL)
        return os.waitpid(session, 0)[1]


class Fresh:
    """bubblewrap's room alone; what leaves the session's process group ends with the room."""

    reusable = False

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.isolation = (
            f"tier A: bubblewrap, started afresh for each submission, {_second_walls()}"
        )

    def prepare(self) -> None:
        """Do nothing: the room is all there is."""

    def enter(self) -> None:
        """Take limits, then give up rights, files outside the writable folders, system calls."""
        process_limits.hide_memory(False)  # or the warden could not see how much it holds
        process_limits.set_limits(self.limits)
        os.chdir(process_limits.HOME)
        _lock()

    def overflows(self, outside: Iterable[int]) -> bool:
        """Add up the memory of everything in the room that is not the grader's."""
        inside = set(process_limits.processes()).difference(outside)
        return (
            process_limits.private_bytes(inside, self.limits.memory_bytes)
            > self.limits.memory_bytes
        )

    def end(self, session: int) -> int:
        """End the session and its process group."""
        return Open().end(session)


class Nested(Fresh):
    """A room within the room, whose first process is the session: with it, all others end."""

    reusable = True

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.isolation = (
            "tier A: bubblewrap, with own namespaces and an unprivileged user for each submission, "
            f"{_second_walls()}"
        )

    def prepare(self) -> None:
        """Open the user and process namespaces that the session will be the first process of."""
        process_limits.enter_user_namespace()

    def enter(self) -> None:
        """Cover every writable folder by an empty one, then do as in the room."""
        process_limits.set_limits(self.limits)
        process_limits.enter_empty_folders(self.limits)
        _lock()

    def end(self, session: int) -> int:
        """End the session; the kernel ends its namespace."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(session, signal.SIGKILL)
        return os.waitpid(session, 0)[1]


class Apart:
    """No namespaces: what students may reach is a list of paths, who they are is nobody else.

    Names of other files can be found out, their contents not. Sockets cannot be made, nor can the
    rights and times of files be changed, so data loaders with processes of their own, and
    `shutil.copy`, do not work.

    Args:
        uid: a user that nobody else is, to become; None to stay, which needs a Landlock that holds
            signals back.
        readable: what may be read.
        work: the one folder that may be written.

    Raises:
        OSError: if that cannot be done here; says why.
    """

    reusable = True

    def __init__(self, limits: Limits, uid: int | None, readable: Sequence[str], work: str) -> None:
        version = landlock.version()
        if uid is None and version < landlock.SIGNALS_SINCE:
            raise OSError(f"Landlock is {version or 'missing'} here; Linux 6.12 has what is needed")
        if not seccomp.machine_is_known():
            raise OSError("seccomp: the system calls of this machine are not known")
        self.limits, self.uid, self.work = limits, uid, work
        if uid is not None:
            os.chown(work, uid, uid)
        self._readable = [*readable, *_DEVICES]
        who = "the grader's own user" if uid is None else "a user of its own"
        self.isolation = f"tier B: {who} for student code, {_second_walls()}; no namespaces"

    def prepare(self) -> None:
        """Keep in sight whatever the session starts, whoever its parents are."""
        process_limits.inherit_orphans()

    def enter(self) -> None:
        """Become nobody, take limits, then give up rights, files and system calls."""
        rules = None
        if landlock.version():
            writable = [self.work, os.devnull]
            rules = landlock.make_ruleset(self._readable, writable, network=False)
        if self.uid is not None:
            process_limits.become(self.uid)
        process_limits.hide_memory(False)  # or the warden could not see how much it holds
        process_limits.set_limits(self.limits, process_limits.threads_of_user(os.getuid()))
        os.chdir(self.work)
        process_limits.drop_capabilities()
        if rules is not None:
            landlock.enter(rules)
        seccomp.refuse(seccomp.NEEDLESS | seccomp.SHARED)

    def overflows(self, outside: Iterable[int]) -> bool:
        """Look at memory, at the work folder, and at what is left on its disk."""
        if self.uid is not None and os.geteuid() != self.uid:
            # With the student's eyes: root without all its rights may not look at others' memory.
            os.setegid(self.uid)
            os.seteuid(self.uid)
        inside = process_limits.descendants(os.getpid())
        used = process_limits.private_bytes(inside, self.limits.memory_bytes)
        disk = os.statvfs(self.work)
        return (
            used > self.limits.memory_bytes
            or disk.f_bavail * disk.f_frsize < _DISK_RESERVE
            or _bytes_below(self.work, self.limits.disk_bytes) > self.limits.disk_bytes
        )

    def end(self, session: int) -> int:
        """End all descendants until there are none, then empty the work folder."""
        ended = 0
        while True:
            for pid in process_limits.descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == session:
                ended = status
            elif pid == 0:
                time.sleep(_SWEEP_SECONDS)
        self._empty()
        return ended

    def _empty(self) -> None:
        """Remove what was written; by programs that no depth of folders makes give up."""
        if self.uid is not None:
            os.seteuid(0)
            os.setegid(0)
        if not os.listdir(self.work):
            return
        empty = ["find", self.work, "-mindepth", "1", "-delete"]
        if subprocess.run(empty, stderr=subprocess.DEVNULL).returncode:
            # Of the folders that it finds below, it follows no link.
            subprocess.run(["chmod", "-R", "u+rwx", self.work], stderr=subprocess.DEVNULL)
            subprocess.run(empty, stderr=subprocess.DEVNULL)


def works(enclosure: Enclosure) -> bool:
    """Try whether this kernel lets a process enter the enclosure from here."""
    warden = os.fork()
    if warden == 0:
        with contextlib.suppress(OSError):
            enclosure.prepare()
            session = os.fork()
            if session == 0:
                with contextlib.suppress(OSError):
                    enclosure.enter()
                    os._exit(0)
                os._exit(1)
            os._exit(os.waitpid(session, 0)[1] != 0)
        os._exit(1)
    return os.waitpid(warden, 0)[1] == 0


def _lock() -> None:
    """Give up rights, files and system calls inside bubblewrap's room, whose network is its own."""
    process_limits.drop_capabilities()
    if landlock.version():
        landlock.enter(landlock.make_ruleset(["/"], [*WRITABLE, "/dev"], network=True))
    seccomp.refuse(seccomp.NEEDLESS)


def _second_walls() -> str:
    version = landlock.version()
    walls = [f"Landlock (version {version})"] * bool(version)
    walls += ["seccomp"] * seccomp.machine_is_known()
    return " and ".join(walls) or "neither Landlock nor seccomp"


def _bytes_below(folder: str, enough: int) -> int:
    """Add up what files take on the disk, stopping beyond `enough`; too many count as that."""
    total, n_files, folders = 0, 0, [folder]
    while folders and total <= enough:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                n_files += 1
                if n_files > _MOST_FILES:
                    return enough + 1
                total += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return total
