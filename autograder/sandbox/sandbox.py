"""Run a notebook's cells, then probes of what they define, where they can harm nobody.

A server that has imported once what a set needs forks a process for each submission
(`inside.worker`) and closes it off (`inside.isolation`): within namespaces that bubblewrap makes
(`sandbox.bubblewrap`), tier A, or where those are forbidden without them, tier B. This side chooses
the best tier in which attacks are seen to fail (`sandbox.escape_attempts`), sends cells and probes,
and trusts nothing that comes back: every message has a deadline, bounds and a strict form, and what
breaks them becomes a Failure.

A cell or probe that ends its process takes only itself away: the rest is run again without it.
"""

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn, Self

from autograder.handed_out import Files, put
from autograder.inside import framing, process_limits, wire
from autograder.inside.messages import ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.records import GraderError, Run, SandboxUnavailable
from autograder.sandbox import bubblewrap, escape_attempts, mounts
from autograder.sandbox.bait import Bait
from autograder.sandbox.cgroup import ControlGroup, make_control_group
from autograder.sandbox.container import RUNTIMES, Container
from autograder.sandbox.namespaces import why_forbidden
from autograder.sandbox.session import ServerDiedError, Session
from autograder.sandbox.submission_run import SubmissionRun
from autograder.temporary import temporary_folder

with contextlib.suppress(ImportError):  # not on Windows, where there is no sandbox
    import pwd

__all__ = ["LIBRARIES", "Limits", "Sandbox"]

LIBRARIES = ("torch", "torch.optim", "torch.utils.data", "matplotlib.pyplot", "tqdm.auto")
"""What can be held ready for student code, as it takes long to load. NumPy always is."""

TIERS = {
    "A": "namespaces by bubblewrap",
    "A-fresh": "the same, started afresh for each submission: only when asked for, it is slow",
    "C": "a container, by the OCI runtime that was asked for",
    "B": "a user of its own (as root) or Landlock (else), with seccomp, without namespaces",
}
FORCE_TIER = "AUTOGRADER_TIER"
"""Environment variable that allows one tier only, or one runtime of containers, for tests."""
# Users that systemd gives to services for a while, and so nobody else's.
_USERS = range(61184, 65520)
_START_SECONDS = 600.0  # to load torch where twenty others want the same two cores
_END_SECONDS = 30.0
_MOST_ATTEMPTS = 5
_OPENED = (
    "while this notebook ran, a file that looks like the grader's was opened, by its code or by a "
    "program that searches this machine's temporary files"
)
_KILLED = (-9, 128 + 9)  # SIGKILL, of the program itself or the one that it runs


class Sandbox:
    """A warm sandbox in which one submission after another can be run.

    A context manager, to be entered in a thread that outlives it: where that thread ends, the
    kernel ends the sandbox too.

    Args:
        private: files and folders that student code must not reach, wherever they lie: the course,
            what its checks load, the output, the submissions, the gradebook.
        libraries: those of `LIBRARIES` to load beforehand. Others can be imported, too, but then
            each submission spends the time; and each one here makes every fork a little slower.
        files: what lies beside the notebook, to be read, by its path there.
        container: an OCI runtime of `container.RUNTIMES`, in whose container and nowhere else
            student code shall run; empty for the best of the other tiers.
        allow_unsandboxed: run with this user's own rights. For trusted code only.

    Attributes:
        refused: for each better tier that was tried, why it cannot be had here.

    Raises:
        SandboxUnavailable: on entering, if this machine cannot isolate; says what to install.
        GraderError: on entering, if something private cannot be hidden, or a library breaks while
            it is loaded; says why.
    """

    def __init__(
        self,
        *,
        libraries: Sequence[str] = LIBRARIES,
        private: Sequence[Path] = (),
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        files: Files = MappingProxyType({}),
        container: str = "",
        allow_unsandboxed: bool = False,
    ) -> None:
        self.private = tuple(private)
        self.libraries = tuple(libraries)
        self.limits = limits
        self.files = files
        self.container = container
        self.unsandboxed = allow_unsandboxed
        self._description = ""
        self.refused: dict[str, str] = {}
        self._tier = "none"
        self._user: User | None = None
        self._folder: Path | None = None
        self._closing = contextlib.ExitStack()
        self._bait: Bait | None = None
        self._container: Container | None = None
        self._group: ControlGroup | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._reusable = True
        self._other: Sandbox | None = None

    def __enter__(self) -> Self:
        self._folder = folder = self._closing.enter_context(temporary_folder("sandbox"))
        try:
            folder.chmod(0o711)  # student code may be another user's, and must reach its own folder
            (folder / "work").mkdir(0o700)
            put(self.files, folder / mounts.FILES)
            self._bait = Bait(folder)
            self._closing.callback(self._bait.close)
            if self.unsandboxed:
                self._start()
            else:
                self._choose_tier()
                if self._group is not None and not self._group.cpu_seconds():
                    self._leave_group()  # a kernel that lets nobody in
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end_other()
        self._stop()
        self._leave_group()
        if self._user is not None:
            self._user.claim.close()
            self._user = None
        self._closing.close()
        self._folder = None

    @property
    def isolation(self) -> str:
        """What isolates student code from the grader, and holds its limits, in words."""
        if self.unsandboxed or not self._description:
            return self._description
        held = "limited by a cgroup" if self._group is not None else "checked ten times a second"
        return f"{self._description}; memory of all processes together {held}"

    def _leave_group(self) -> None:
        if self._group is not None:
            self._group.close()
            self._group = None

    def run(
        self,
        cells: Sequence[str],
        requests: Sequence[ProbeRequest],
        known: Mapping[bytes, Any] | None = None,
        counts_cpu: bool = False,
    ) -> Run:
        """Run the cells in order, then every probe; return one observation for each request.

        A cell that fails is recorded and the next ones still run. Requests of one item that
        follow each other share a process, so that one item's crash, loop or side effect cannot
        touch another's.

        Args:
            known: answers of which it is known what they mean, as they come over the wire.
            counts_cpu: ask the kernel, from out here, what the probes use.
        """
        assert self._bait is not None
        self._bait.was_opened()  # by nobody who is here now
        started = time.monotonic()
        progress = SubmissionRun(
            cells, requests, self.limits, started, self._cpu_seconds, self._open_partner, counts_cpu
        )
        for _ in range(_MOST_ATTEMPTS):
            try:
                with self._new_session(known) as session:
                    progress.advance(session)
                progress.cpu_seconds += session.cpu_seconds
            except ServerDiedError:
                progress.problems.append("the sandbox ended and was started again")
                self._stop()
                self._end_other()
            if not self._reusable:
                self._stop()
            if progress.is_complete or progress.is_late:
                break
        if self._bait.was_opened():
            if self._in_namespaces:
                progress.note_tampering("it has opened a file that looks like the grader's")
            else:
                progress.problems.append(_OPENED)
        return progress.close(time.monotonic() - started)

    @property
    def _in_namespaces(self) -> bool:
        return self._tier.startswith(("A", "C"))

    def _cpu_seconds(self) -> float:
        """CPU time of every process in the sandbox; of student code alone where a group counts."""
        if self._group is not None:
            return self._group.cpu_seconds()
        if self._process is None:
            return 0.0
        server = self._process.pid
        return process_limits.cpu_seconds([server, *process_limits.descendants(server)])

    def _choose_tier(self) -> None:
        """Start in the best tier that this machine offers and no escape attempt breaks."""
        forced = os.environ.get(FORCE_TIER)
        known = [*TIERS, *RUNTIMES]
        if forced is not None and forced not in known:
            raise GraderError(f"{FORCE_TIER} is {forced!r}; it must be one of {known}")
        if os.geteuid() == 0:
            self._user = _unused_user()
        names = mounts.visible_names(self.private)
        container = self.container or (forced if forced in RUNTIMES else "")
        tiers = ["C"] if container else [forced] if forced else ["A", "B"]
        for tier in tiers:
            self._tier = tier
            try:
                if container:
                    assert self._folder is not None
                    self._container = Container(container, self._folder)
                if self._container is None or self._container.has_this_kernel:
                    self._group = make_control_group(self.limits)
                self._start()
                through = escape_attempts.prove(self.run, names)
            except SandboxUnavailable as error:
                through = str(error)
            if not through:
                return
            self._stop()
            self._leave_group()
            self.refused[tier] = through
        reasons = "; ".join(f"tier {tier}: {why}" for tier, why in self.refused.items())
        raise SandboxUnavailable(
            f"student code cannot be isolated on this machine: {reasons}. "
            + ("Or grade without --container." if container else bubblewrap.INSTALL)
        )

    @contextlib.contextmanager
    def _new_session(self, known: Mapping[bytes, Any] | None) -> Iterator[Session]:
        """Start a process for a submission, and leave nothing of it behind."""
        if self._process is None:
            self._start()
        assert self._control is not None
        channel, their_channel = socket.socketpair()
        output, their_output = os.pipe()
        their_kill_pipe, kill_pipe = os.pipe()
        theirs = [their_channel.detach(), their_output, their_kill_pipe]
        if self._group is not None:
            theirs.append(os.dup(self._group.entrance))
        keep = self.limits.output_bytes
        session = Session(channel, output, kill_pipe, self._control, keep, known, self._group)
        try:
            socket.send_fds(self._control, [b"!"], theirs)
        except OSError:
            session.close()
            raise ServerDiedError from None
        finally:
            for fd in theirs:
                os.close(fd)
        try:
            yield session
        finally:
            session.end()

    @contextlib.contextmanager
    def _open_partner(self) -> Iterator[Session]:
        """Start a process in a second sandbox, where no student code has been or will be."""
        if self._other is None:
            names = ("libraries", "private", "limits", "files", "container")
            same = {name: getattr(self, name) for name in names}
            self._other = Sandbox(**same, allow_unsandboxed=self.unsandboxed).__enter__()
        with self._other._new_session(None) as session:
            yield session
        if not self._other._reusable:
            self._other._stop()

    def _end_other(self) -> None:
        if self._other is not None:
            self._other.__exit__(None, None, None)
            self._other = None

    def _start(self) -> None:
        """Start the server, and again where something kills it before it is warm.

        Else a kill from outside, as of a machine short of memory, would pass for a machine that
        cannot isolate, and end the run of a whole class.
        """
        for attempts_left in reversed(range(_MOST_ATTEMPTS)):
            answer, complaints = self._start_once()
            if "isolation" in answer:
                break
            was_killed = self._ended() in _KILLED
            self._stop()
            if answer or not was_killed or not attempts_left:
                self._refuse(answer, complaints)
        self._reusable, self._description = answer["reusable"], answer["isolation"]

    def _ended(self) -> int | None:
        """Return the server's exit status, None if it is still there; its number stays taken."""
        assert self._process is not None
        deadline = time.monotonic() + _END_SECONDS
        look = os.WEXITED | os.WNOWAIT | os.WNOHANG
        while (seen := os.waitid(os.P_PID, self._process.pid, look)) is None:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.01)
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def _start_once(self) -> tuple[dict[str, Any], str]:
        """Return what the server answers once it is warm, and what it wrote to stderr."""
        assert self._folder is not None
        folder = self._folder
        ours, theirs = socket.socketpair()
        fd = theirs.fileno()
        assert self._bait is not None
        self._bait.lay()
        if self._container is not None:
            command = self._container.command(self.limits, self.private)
        elif self._in_namespaces:
            command = bubblewrap.bubblewrap_command(folder, self.limits, fd, self.private)
        else:
            command = mounts.plain_command(folder, fd)
        with theirs, tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                command,
                stdin=fd if self._container is not None else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=[fd] if self._container is None else [],
                env=mounts.environment() | ({} if self._in_namespaces else mounts.homes(folder)),
                cwd=folder / "work" if self.unsandboxed else "/",
                start_new_session=True,
            )
            theirs.close()
            self._control = ours
            answer = self._handshake(self._settings(folder))
            self._bait.watch(take_name=self._in_namespaces)
            complaints.seek(0)
            return answer, complaints.read(4000).decode(errors="replace").strip()

    def _settings(self, folder: Path) -> dict[str, Any]:
        """Return what the server must know; in tier A no path of this machine."""
        settings = {
            "tier": self._tier,
            "within": self._container.description if self._container else "bubblewrap",
            "limits": dataclasses.asdict(self.limits),
            "become": self._user.uid if self._user is not None else None,
            "libraries": list(self.libraries),
            "files": (mounts.FILES_INSIDE, list(self.files)),
        }
        if not self._in_namespaces:
            # Another user may not reach the folder of this Python: what is loaded can be imported.
            settings["libraries"] = list(LIBRARIES)
            assert self._bait is not None
            readable = mounts.readable_paths(self.private)
            place = str(folder / mounts.FILES)
            settings["readable"] = [*readable, str(self._bait.path), place]
            settings["files"] = (place, list(self.files))
            settings["work"] = str(folder / "work")
        return settings

    def _handshake(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Send the server its settings and wait until it is warm."""
        assert self._control is not None
        deadline = time.monotonic() + _START_SECONDS
        try:
            framing.write(self._control, wire.encode(settings), deadline)
            answer: dict[str, Any] = framing.read(self._control, deadline)
        except (EOFError, OSError):
            return {}
        return answer

    def _refuse(self, answer: dict[str, Any], complaints: str) -> NoReturn:
        if "error" in answer:
            raise GraderError(f"{answer['error']} (while the sandbox loaded its libraries)")
        why = answer.get("unavailable") or complaints or "it does not start, and gives no reason"
        if self._in_namespaces and self._container is None and (known := why_forbidden()):
            why = f"{why} ({known})"
        raise SandboxUnavailable(str(why))

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            below = process_limits.descendants(self._process.pid) if os.getpid() == 1 else []
            if self._in_namespaces and self._process.returncode is None:
                # Killed before it has told its child to go on, bubblewrap leaves the child waiting
                # for that word for ever. Both are still in the group that was made for them.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            if self._container is not None:
                self._container.delete()
            self._process.kill()
            self._process.wait()
            self._process = None
            for pid in below:  # of process 1 in a container they are children now
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


@dataclass(frozen=True)
class User:
    """A user for student code alone.

    Attributes:
        claim: a name in the kernel that others find taken as long as it is open.
    """

    uid: int
    claim: socket.socket


def _unused_user() -> User:
    """Claim a user that has no name, no process and no other sandbox."""
    for uid in _USERS:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0autograder-user-{uid}")
            pwd.getpwuid(uid)
        except KeyError:
            if process_limits.threads_of_user(uid) == 0:
                return User(uid, claim)
        except OSError:
            pass
        claim.close()
    raise SandboxUnavailable(f"every user from {_USERS[0]} to {_USERS[-1]} is taken")
