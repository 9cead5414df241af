"""The ways in which one submission is isolated from everything else, best first.

    Namespaces      in bubblewrap or a container, with own process, mount and IPC namespaces
    PerSubmission   in a bubblewrap or container of its own, which ends with the submission
    UserOrLandlock  without namespaces: another user where the grader is root, else Landlock alone
    Unsandboxed     not at all, for people who are trusted

The supervisor of a submission calls `prepare` before it forks the session; the session calls
`enter`, which cannot be undone, before any student code runs; the supervisor asks from time to time
whether the session `exceeds_limits`, and calls `kill_all` at the end.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from autograder.inside import landlock, process_limits, seccomp
from autograder.inside.deletion import empty_folder
from autograder.inside.messages import (
    ALL_OUT_OF_TIME,
    ENDED,
    OUT_OF_MEMORY,
    TOO_MANY_PROCESSES,
)
from autograder.inside.process_limits import MOST_TERMINALS, WRITABLE, Limits

# Where less is left on the disk, a submission without a disk of its own is killed.
_DISK_RESERVE = 512 << 20
_MOST_FILES = 16384
_KILL_INTERVAL_SECONDS = 0.0005
# The kernel counts what all of one user's submissions run together: so many may run at a time.
_MOST_AT_A_TIME = 16
# Without /dev/zero: memory that is mapped from it would be nobody's.
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")


class Isolation(Protocol):
    """What a supervisor and a session need to isolate a submission.

    Attributes:
        description: what it consists of, in words.
        reusable: whether another submission may follow in the same server.
    """

    description: str
    reusable: bool

    def prepare(self) -> None:
        """Do in the supervisor what must be done before it forks the session."""

    def enter(self) -> None:
        """Isolate this process; raises OSError where that fails, and then nothing may run."""

    def exceeds_limits(self, outside: Iterable[int]) -> int:
        """ALL_OUT_OF_TIME, OUT_OF_MEMORY or TOO_MANY_PROCESSES if the session uses more, else 0.

        Args:
            outside: processes not of the session.
        """

    def kill_all(self, session: int) -> int:
        """Kill every process of the session, delete its files, return its exit status."""


def choose_isolation(settings: dict[str, Any], limits: Limits) -> Isolation:
    """Return the best isolation that this machine has within the tier that the grader asks for.

    Raises:
        OSError: if this machine cannot have it; says why.
    """
    if settings["tier"] == "none":
        return Unsandboxed()
    if settings["tier"] == "B":
        isolation = UserOrLandlock(
            limits, settings["become"], settings["readable"], settings["work"]
        )
        if not can_enter(isolation):
            raise OSError("this machine lets nobody become another user, or refuses Landlock")
        return isolation
    where = f"tier {settings['tier'][0]}: {settings['within']}"
    namespaces = Namespaces(limits, where)
    use_them = settings["tier"] != "A-fresh" and can_enter(namespaces)
    return namespaces if use_them else PerSubmission(limits, where)


class Unsandboxed:
    """No isolation at all."""

    description = "none: student code ran with the grader's own rights"
    reusable = True

    def prepare(self) -> None:
        """Do nothing."""

    def enter(self) -> None:
        """Do nothing."""

    def exceeds_limits(self, outside: Iterable[int]) -> int:
        """Limit nothing."""
        return ENDED

    def kill_all(self, session: int) -> int:
        """Kill the session and its process group."""
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError):
                kill(session, signal.SIGKILL)
        return os.waitpid(session, 0)[1]


class PerSubmission:
    """A sandbox for one submission; what leaves the session's process group ends with it.

    Args:
        where: the tier, and what has made the sandbox, in words.
    """

    reusable = False

    def __init__(self, limits: Limits, where: str) -> None:
        self.limits = limits
        self.description = f"{where}, started afresh for each submission, {_second_layer()}"

    def prepare(self) -> None:
        """Do nothing: the namespaces are there already."""

    def enter(self) -> None:
        """Set limits, then give up rights, files outside the writable folders, system calls."""
        process_limits.hide_memory(False)  # or the supervisor could not see how much it uses
        process_limits.set_limits(self.limits)
        os.chdir(process_limits.HOME)
        # /proc tells of a process what it has mapped, and of the machine what all do. In /dev are
        # terminals, of which the machine has a number for all.
        folders = [f"/{name}" for name in os.listdir("/") if name not in ("proc", "dev")]
        _restrict(self.limits, [*folders, *_DEVICES], [os.devnull])

    def exceeds_limits(self, outside: Iterable[int]) -> int:
        """Add up what every process in the sandbox uses that is not the grader's, and files."""
        folders = [os.statvfs(folder) for folder in WRITABLE]
        if sum(one.f_files - one.f_ffree for one in folders) > len(folders) * _MOST_FILES:
            return OUT_OF_MEMORY
        inside = set(process_limits.processes()).difference(outside)
        if process_limits.n_terminals() > MOST_TERMINALS:
            return TOO_MANY_PROCESSES
        return _exceeded(inside, self.limits, process_limits.socket_bytes())

    def kill_all(self, session: int) -> int:
        """Kill the session and its process group."""
        return Unsandboxed().kill_all(session)


class Namespaces(PerSubmission):
    """Namespaces within those of the sandbox; all processes die with the session, process 1."""

    reusable = True

    def __init__(self, limits: Limits, where: str) -> None:
        super().__init__(limits, where)
        self.description = (
            f"{where}, with own namespaces and an unprivileged user for each submission, "
            f"{_second_layer()}"
        )

    def prepare(self) -> None:
        """Open the user and process namespaces that the session will be the first process of."""
        process_limits.enter_user_namespace()

    def enter(self) -> None:
        """Mount an empty folder over every writable one, then do as without them."""
        process_limits.set_limits(self.limits)
        process_limits.mount_empty_folders(self.limits)
        _restrict(self.limits, ["/"], ["/dev"])

    def kill_all(self, session: int) -> int:
        """Kill the session; the kernel kills the other processes of its namespace."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(session, signal.SIGKILL)
        return os.waitpid(session, 0)[1]


class UserOrLandlock:
    """No namespaces: a list of paths that students may reach, and a user that nobody else is.

    Names of other files can be found out, their contents not. Sockets cannot be made, nor can the
    rights and times of files be changed, so data loaders with worker processes, and `shutil.copy`,
    do not work.

    Args:
        uid: a user that nobody else is, to become; None to stay, which needs a Landlock that
            blocks signals.
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
        if not seccomp.architecture_is_known():
            raise OSError("seccomp: the system calls of this machine are not known")
        self.limits, self.uid, self.work = limits, uid, work
        self._free_bytes = 0
        if uid is not None:
            os.chown(work, uid, uid)
        self._readable = [*readable, *_DEVICES]
        who = "the grader's own user" if uid is None else "a user of its own"
        self.description = f"tier B: {who} for student code, {_second_layer()}; no namespaces"

    def prepare(self) -> None:
        """Stay the ancestor of whatever the session starts, even where its parent has ended.

        Nothing that a session before has left is there for this one: where the one before did not
        end in time, it is deleted now.

        Raises:
            OSError: if something stays.
        """
        process_limits.adopt_orphans()
        if os.listdir(self.work):
            empty_folder(self.work)
            if os.listdir(self.work):
                raise OSError(f"{self.work} could not be emptied")
        self._free_bytes = _free_bytes(self.work)

    def enter(self) -> None:
        """Switch the user, set limits, then give up rights, files and system calls."""
        rules = None
        if landlock.version():
            writable = [self.work, os.devnull]
            rules = landlock.make_ruleset(self._readable, writable, network=False)
        if self.uid is not None:
            process_limits.switch_user(self.uid)
        process_limits.hide_memory(False)  # or the supervisor could not see how much it uses
        # The grader's own user may run others: what one of them starts is not taken from this one,
        # whose supervisor counts for it.
        n_submissions = 1 if self.uid is not None else _MOST_AT_A_TIME
        others = process_limits.threads_of_user(os.getuid())
        process_limits.set_limits(self.limits, others + (n_submissions - 1) * self.limits.processes)
        os.chdir(self.work)
        process_limits.drop_capabilities()
        if rules is not None:
            landlock.enter(rules)
        calls = seccomp.UNNEEDED | seccomp.WITHOUT_NAMESPACES
        seccomp.deny(calls, self.limits.keeps_children)

    def exceeds_limits(self, outside: Iterable[int]) -> int:
        """Look at time and memory, at the work folder, and at what is left on its disk."""
        if self.uid is not None and os.geteuid() != self.uid:
            # As the student's user: root without all capabilities may not look at others' memory.
            os.setegid(self.uid)
            os.seteuid(self.uid)
        inside, most = process_limits.descendants(os.getpid()), self.limits.disk_bytes
        exceeded = _exceeded(inside, self.limits)
        free = _free_bytes(self.work)
        used = _bytes_below(self.work, most)
        if used <= most and self._free_bytes - free > most:  # by others, or by files without a name
            used += process_limits.nameless_bytes(inside, os.stat(self.work).st_dev, most)
        return OUT_OF_MEMORY if free < _DISK_RESERVE or used > most else exceeded

    def kill_all(self, session: int) -> int:
        """Kill all descendants until there are none, then empty the work folder."""
        exit_status = 0
        while True:
            for pid in process_limits.descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == session:
                exit_status = status
            elif pid == 0:
                time.sleep(_KILL_INTERVAL_SECONDS)
        if self.uid is not None:
            os.seteuid(0)
            os.setegid(0)
        if os.listdir(self.work):
            empty_folder(self.work)
        return exit_status


def can_enter(isolation: Isolation) -> bool:
    """Try whether this kernel lets a process enter the isolation from here."""
    supervisor = os.fork()
    if supervisor == 0:
        with contextlib.suppress(OSError):
            isolation.prepare()
            session = os.fork()
            if session == 0:
                with contextlib.suppress(OSError):
                    isolation.enter()
                    os._exit(0)
                os._exit(1)
            os._exit(os.waitpid(session, 0)[1] != 0)
        os._exit(1)
    return os.waitpid(supervisor, 0)[1] == 0


def _exceeded(inside: Collection[int], limits: Limits, sockets: int = 0) -> int:
    """Say which limit these processes together exceed, if any.

    Args:
        sockets: bytes that sockets in a network of the submission's own may hold.
    """
    if process_limits.cpu_seconds(inside) > limits.submission_seconds:
        return ALL_OUT_OF_TIME
    if process_limits.n_threads(inside) > limits.processes:
        return TOO_MANY_PROCESSES
    used = process_limits.private_bytes(inside, limits.memory_bytes) + sockets
    return OUT_OF_MEMORY if used > limits.memory_bytes else ENDED


def _restrict(limits: Limits, readable: Sequence[str], devices: Sequence[str]) -> None:
    """Give up rights, files and system calls in a sandbox that has a network of its own."""
    process_limits.drop_capabilities()
    if landlock.version():
        landlock.enter(landlock.make_ruleset(readable, [*WRITABLE, *devices], network=True))
    seccomp.deny(seccomp.UNNEEDED, limits.keeps_children)


def _second_layer() -> str:
    version = landlock.version()
    layers = [f"Landlock (version {version})"] * bool(version)
    layers += ["seccomp"] * seccomp.architecture_is_known()
    return " and ".join(layers) or "neither Landlock nor seccomp"


def _free_bytes(folder: str) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def _bytes_below(folder: str, enough: int) -> int:
    """Add up what files take on the disk, stopping beyond `enough`.

    Too many files count as that, folders so deep that no path leads to them (they cost next to
    nothing to make, and time to delete), and folders that their owner may not look into.
    """
    total, n_files, folders = 0, 0, [folder]
    while folders and total <= enough:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    n_files += 1
                    if n_files > _MOST_FILES:
                        return enough + 1
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.EACCES):
                return enough + 1
    return total
