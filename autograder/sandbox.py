"""Run a notebook's cells, then probes of what they define, where they can harm nobody.

bubblewrap builds a room (`autograder.room`). Inside, a server that has imported torch once forks a
process for each submission (`autograder.worker`). This side starts it, sends cells and probes, and
trusts nothing that comes back: every message has a deadline, bounds and a strict form, and what
breaks them becomes a Failure.

A cell or probe that ends its process takes only itself away: the rest is run again without it.
"""

import contextlib
import dataclasses
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from autograder import room, wire
from autograder.confine import Limits
from autograder.dialogue import Dialogue, Progress, ServerDiedError
from autograder.records import GraderError, ProbeRequest, Run, SandboxUnavailable

__all__ = ["Limits", "Sandbox"]

_UNPRIVILEGED = 61184  # belongs to no service; student code gets it where the grader is root
_START_SECONDS = 120.0
_MOST_ATTEMPTS = 5


class Sandbox:
    """A warm sandbox in which one submission after another can be run.

    A context manager, to be entered in a thread that outlives it: where that thread ends, the
    kernel ends the sandbox too.

    Args:
        course_modules: modules that student code may import, such as "course_pkg.text.batches".
        course_root: folder that holds their package; needed if there are any.
        allow_unsandboxed: run with this user's own rights. For trusted code only.

    Attributes:
        isolation: what keeps student code away from the grader, in words.

    Raises:
        SandboxUnavailable: on entering, if this machine cannot isolate; says what to install.
        GraderError: on entering, if a course module is missing or does not import alone.
    """

    def __init__(
        self,
        course_modules: Sequence[str] = (),
        *,
        course_root: Path | None = None,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        allow_unsandboxed: bool = False,
    ) -> None:
        if course_modules and course_root is None:
            raise ValueError(f"course_root is None; it must hold {list(course_modules)}")
        self.course_modules = tuple(course_modules)
        self.course_root = course_root
        self.limits = limits
        self.unsandboxed = allow_unsandboxed
        self.isolation = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._reusable = True

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="sandbox-")
        course = Path(self._folder.name, "course")
        try:
            course.mkdir()
            if self.course_root is not None:
                room.copy_modules(self.course_modules, self.course_root, course)
            self._start()
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
        self._stop()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def run(self, cells: Sequence[str], requests: Sequence[ProbeRequest]) -> Run:
        """Run the cells in order, then every probe; return one observation for each request.

        A cell that fails is recorded and the next ones still run. Requests of one item that
        follow each other share a process, so that one item's crash, loop or side effect cannot
        touch another's.
        """
        started = time.monotonic()
        progress = Progress(cells, requests, self.limits, started)
        for _ in range(_MOST_ATTEMPTS):
            try:
                with self._dialogue() as dialogue:
                    progress.advance(dialogue)
            except ServerDiedError:
                progress.problems.append("the sandbox ended and was started again")
                self._stop()
            if not self._reusable:
                self._stop()
            if progress.is_complete or time.monotonic() > progress.deadline:
                break
        return progress.close(time.monotonic() - started)

    @contextlib.contextmanager
    def _dialogue(self) -> Iterator[Dialogue]:
        """Have a process made for a submission, and leave nothing of it behind."""
        if self._process is None:
            self._start()
        assert self._control is not None
        talk, their_talk = socket.socketpair()
        output, their_output = os.pipe()
        their_leash, leash = os.pipe()
        theirs = [their_talk.detach(), their_output, their_leash]
        dialogue = Dialogue(talk, output, leash, self._control, self.limits.output_bytes)
        try:
            socket.send_fds(self._control, [b"!"], theirs)
        except OSError:
            dialogue.hang_up()
            raise ServerDiedError from None
        finally:
            for fd in theirs:
                os.close(fd)
        try:
            yield dialogue
        finally:
            dialogue.end()

    def _start(self) -> None:
        assert self._folder is not None
        folder = Path(self._folder.name)
        ours, theirs = socket.socketpair()
        names = {name.split(".")[0] for name in self.course_modules}
        fd = theirs.fileno()
        if self.unsandboxed:
            command = room.plain_command(fd)
        else:
            command = room.bubblewrap_command(folder, sorted(names), self.limits, fd)
        with theirs, tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=[fd],
                env=room.environment() | {"HOME": str(folder)},
                cwd=folder if self.unsandboxed else "/",
                start_new_session=True,
            )
            theirs.close()
            self._control = ours
            answer = self._handshake(folder)
            if not answer.get("ready"):
                self._stop()
                complaints.seek(0)
                self._refuse(answer, complaints.read(4000).decode(errors="replace").strip())
        self._reusable = answer["nested"] or self.unsandboxed
        self.isolation = _isolation(self.unsandboxed, answer["nested"])

    def _handshake(self, folder: Path) -> dict[str, Any]:
        """Tell the server what to load and wait until it is warm."""
        assert self._control is not None
        sandboxed = not self.unsandboxed
        course = room.COURSE_INSIDE if sandboxed else str(folder / "course")
        settings = {
            "limits": dataclasses.asdict(self.limits),
            "confined": sandboxed,
            "become": _UNPRIVILEGED if sandboxed and os.geteuid() == 0 else None,
            "course": course,
            "course_modules": list(self.course_modules),
        }
        deadline = time.monotonic() + _START_SECONDS
        try:
            wire.write(self._control, wire.encode(settings), deadline)
            answer: dict[str, Any] = wire.read(self._control, deadline)
        except (EOFError, OSError):
            return {}
        return answer

    def _refuse(self, answer: dict[str, Any], complaints: str) -> None:
        if "error" in answer:
            raise GraderError(
                f"{answer['error']} (while the sandbox loaded torch, numpy and the modules "
                f"{list(self.course_modules)}: a course module may import only others of these)"
            )
        raise SandboxUnavailable(
            f"the sandbox does not start on this machine: {complaints or 'no reason given'}. "
            "`python -m autograder doctor` says what is missing; inside a container, user "
            "namespaces must be allowed. --no-sandbox grades people whom you trust."
        )

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _isolation(unsandboxed: bool, nested: bool) -> str:
    if unsandboxed:
        return "none: student code ran with the grader's own rights"
    if nested:
        return "bubblewrap, with own namespaces and an unprivileged user for each submission"
    return "bubblewrap, started afresh for each submission"
