"""What runs inside the sandbox: a warm server, a supervisor for each submission, its session.

    server               has imported what the set needs, reads no student's bytes, forks
      supervisor         one for each submission, which cannot see it: kills the session when the
                         grader says so, or when it uses too much memory
        session          process 1 of its own namespace: runs the cells of the notebook, then forks
          probe process  one for each graded item: runs its probes and sends what they return

From the session on, student code may control everything. So nothing that it sends is a verdict: the
grader parses it as untrusted data and compares it with what the reference version returns.

Of the grader, the sandbox holds the folder of this file and nothing else: no check, no reference
version and no expected value ever enters it.
"""

import contextlib
import gc
import importlib
import logging
import math
import mmap
import os
import select
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from autograder.inside import framing, process_limits, process_state, wire
from autograder.inside.beside import FilesBeside
from autograder.inside.isolation import Isolation, choose_isolation
from autograder.inside.messages import (
    CELL_OUT_OF_TIME,
    ENDED,
    NOT_ISOLATED,
    STOPPED,
    Failure,
    ProbeRequest,
    WireError,
)
from autograder.inside.probe import call_probe, describe, failure_of, probe_or_failure
from autograder.inside.process_limits import Limits
from autograder.inside.serving import serve as serve_partner
from autograder.inside.shell import make_shell

# Exit status of a probe process that has run every probe; with any other, student code ended it.
_PROBES_DONE = 77
_GRACE_SECONDS = 0.5  # of CPU time, for a cell that does not heed its limit
_WATCH_SECONDS = 0.1


# ------------------------------------------------------------------ the server
def serve(control_fd: int) -> NoReturn:
    """Warm up, then fork a supervisor for each submission until the grader closes the socket."""
    control = socket.socket(fileno=control_fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the grader may have inherited another
    settings = framing.read(control)
    limits = Limits(**settings["limits"])
    files = FilesBeside(*settings["files"])
    if settings["become"] is not None and settings["tier"] != "B":
        process_limits.switch_user(settings["become"])
    try:
        isolation = choose_isolation(settings, limits)
    except OSError as error:
        _send(control, {"unavailable": str(error)})
        sys.exit(1)
    try:
        shell = _warm_up(settings["libraries"])
    except Exception as error:
        _send(control, {"error": describe(error)})
        sys.exit(1)
    process_limits.hide_memory(True)
    _send(control, {"isolation": isolation.description, "reusable": isolation.reusable})
    while True:
        _, fds, _, _ = socket.recv_fds(control, 1, 4)
        if not fds:
            sys.exit(0)
        supervisor = process_limits.fork()
        if supervisor == 0:
            control.close()
            os._exit(_supervise(fds, limits, isolation, shell, files))
        for fd in fds:
            os.close(fd)
        _, status, usage = os.wait4(supervisor, 0)
        cpu_seconds = usage.ru_utime + usage.ru_stime
        _send(control, {"status": os.waitstatus_to_exitcode(status), "cpu_seconds": cpu_seconds})


def _warm_up(libraries: list[str]) -> Any:
    """Import what every submission would import, and leave nothing of the grader to find.

    No more than that: each library makes the memory larger that every fork copies the map of.
    """
    import numpy.random  # loaded by name only when used, and every probe seeds it

    with _without_fork_handlers():
        for name in libraries:
            with contextlib.suppress(ImportError):  # not every grader has matplotlib
                importlib.import_module(name)
        if "torch" in sys.modules:
            _warm_torch(with_optimizers="torch.optim" in libraries)
        shell = make_shell()
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore  # epoll will be denied
    call_probe("def probe(implementation, inputs): pass", None, {}, 0)
    wire.normal_form({"value": [numpy.zeros(1), (1, "a"), [0.5] * 20]})
    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        del sys.modules[name]
    grader = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path[:] = [folder for folder in sys.path if folder not in ("", grader)]
    gc.collect()
    gc.freeze()
    process_limits.collapse_memory()
    return shell


def _warm_torch(with_optimizers: bool) -> None:
    import torch

    torch.set_num_threads(1)  # a child of a parent with more would hang
    for dtype in (torch.float32, torch.float64):
        scores = wire.normal_form(torch.ones(3, 3, dtype=dtype)) @ torch.ones(3, 3, dtype=dtype)
        future = torch.ones(3, 3, dtype=torch.bool).triu(1)
        torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).exp().sum(-1).mean().tolist()
    if with_optimizers:
        weight = torch.nn.Parameter(torch.ones(1))
        weight.grad = torch.ones_like(weight)
        torch.optim.Adam([weight]).step()  # the first one loads half of torch


@contextlib.contextmanager
def _without_fork_handlers() -> Iterator[None]:
    """Let libraries register nothing to be run after a fork.

    Such handlers repair locks that another thread may hold. The server has no other thread, and
    what they do costs a submission, with its many forks, more than its own code.
    """
    register = os.register_at_fork
    os.register_at_fork = lambda **handlers: None
    try:
        yield
    finally:
        os.register_at_fork = register
    logging._at_fork_reinit_lock_weakset.clear()  # type: ignore[attr-defined]


# ------------------------------------------------------------------ the supervisor
def _supervise(
    fds: list[int], limits: Limits, isolation: Isolation, shell: Any, files: FilesBeside
) -> int:
    """Start a session and watch it; return how it ended."""
    channel_fd, output_fd, kill_pipe_fd, *group_fds = fds
    outside = frozenset({1, os.getppid(), os.getpid()})
    cell_limit = _CellLimit()
    try:
        isolation.prepare()
        pid = process_limits.fork()
    except OSError:
        return NOT_ISOLATED
    if pid == 0:
        os.close(kill_pipe_fd)
        for fd in group_fds:
            with contextlib.suppress(OSError):  # the grader sees whether anybody has entered
                os.write(fd, b"0")
            os.close(fd)
        _run_session(channel_fd, output_fd, limits, isolation, shell, cell_limit, files)
    for fd in (channel_fd, output_fd, *group_fds):
        os.close(fd)
    ending = _watch(pid, kill_pipe_fd, isolation, outside, cell_limit)
    status = os.waitstatus_to_exitcode(isolation.kill_all(pid))
    return NOT_ISOLATED if status == NOT_ISOLATED and ending == ENDED else ending


class _CellLimit:
    """Up to what CPU time a session may run its cell, told to the supervisor.

    The session stops a cell itself, by an exception; where none reaches, as inside C, no signal
    does either: it is process 1 of its namespace, which the kernel shields from them.
    """

    def __init__(self) -> None:
        self._shared = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("d")
        self.seconds = math.inf

    @property
    def seconds(self) -> float:
        """CPU time of the session since it began."""
        return self._shared[0]

    @seconds.setter
    def seconds(self, value: float) -> None:
        self._shared[0] = value


def _watch(
    pid: int,
    kill_pipe_fd: int,
    isolation: Isolation,
    outside: frozenset[int],
    cell_limit: _CellLimit,
) -> int:
    poll = select.poll()
    session_fd = os.pidfd_open(pid)
    poll.register(session_fd, select.POLLIN)
    poll.register(kill_pipe_fd, select.POLLIN | select.POLLHUP)
    while True:
        ready = {fd for fd, _ in poll.poll(_WATCH_SECONDS * 1000)}
        if session_fd in ready:
            return ENDED
        if kill_pipe_fd in ready:
            return STOPPED
        if process_limits.cpu_seconds([pid]) > cell_limit.seconds:
            return CELL_OUT_OF_TIME
        if exceeded := isolation.exceeds_limits(outside):
            return exceeded


# ------------------------------------------------------------------ the session
def _run_session(
    channel_fd: int,
    output_fd: int,
    limits: Limits,
    isolation: Isolation,
    shell: Any,
    cell_limit: _CellLimit,
    files: FilesBeside,
) -> NoReturn:
    """Isolate this process, then do what the grader asks until it closes the channel."""
    try:
        os.setsid()
        _connect_output(output_fd)
        isolation.enter()
        files.lay()
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(NOT_ISOLATED)
    with contextlib.suppress(BaseException):
        _Session(socket.socket(fileno=channel_fd), limits, shell, cell_limit, files).run()
    os._exit(0)


def _connect_output(output_fd: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    os.close(output_fd)
    os.close(nothing)
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream = os.fdopen(fd, "w", 1, errors="backslashreplace", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


class TimeLimitError(BaseException):
    """Raised inside a cell at its time limit; no `except Exception` catches it."""


def _stop_cell(signum: int, frame: Any) -> None:
    if signum == signal.SIGPROF:
        raise TimeLimitError("the time limit of this cell was exceeded")
    raise TimeLimitError("this cell does not end, and for most of the time it has not computed")


class _Session:
    def __init__(
        self,
        channel: socket.socket,
        limits: Limits,
        shell: Any,
        cell_limit: _CellLimit,
        files: FilesBeside,
    ) -> None:
        self.channel = channel
        self.files = files
        self.cell_limit = cell_limit
        self.limits = limits
        self.shell = shell
        self.pid = os.getpid()

    def run(self) -> None:
        while True:
            message = framing.read(self.channel)
            if "cell" in message:
                _send(self.channel, {"error": self._run_cell(message["cell"])})
                continue
            if "serve" in message:
                failure = self._run_apart(partial(serve_partner, self.channel, message["serve"]))
            else:
                failure = self._run_apart(partial(self._probe, message["requests"]))
            _send(self.channel, {"done": None} if failure is None else {"died": [*failure]})

    def _run_cell(self, source: str) -> str | None:
        """Run one cell like Jupyter and return its error in one line."""
        for signum in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(signum, _stop_cell)
        process_limits.stop_later(self.limits.cell_seconds, self.limits.wall_factor)
        used = sum(os.times()[:4])  # children that it has waited for included
        self.cell_limit.seconds = used + self.limits.cell_seconds + _GRACE_SECONDS
        try:
            result = self.shell.run_cell(source, store_history=True)
            error = result.error_before_exec or result.error_in_exec
            return None if error is None else describe(error)
        except BaseException as error:
            return describe(error)
        finally:
            if os.getpid() != self.pid:  # a cell has forked and its child has come back here
                os._exit(0)
            process_limits.stop_later(0, self.limits.wall_factor)
            self.cell_limit.seconds = math.inf
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()

    def _run_apart(self, work: Callable[[], object]) -> tuple[str, str] | None:
        """Do the work in a fork; return what ended that early, if anything did."""
        pid = process_limits.fork_soon()
        if pid == 0:
            with contextlib.suppress(BaseException):
                os.setsid()
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 1)
                os.dup2(nothing, 2)
                work()
                os._exit(_PROBES_DONE)
            os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == _PROBES_DONE:
            return None
        if status == -signal.SIGPROF:
            return "timeout", "the time limit of this call was exceeded"
        if status == -signal.SIGALRM:
            return "waiting", "this call does not end, and for most of the time it has not computed"
        if status < 0:
            return "crash", f"the process was ended by {signal.Signals(-status).name}"
        return "crash", "the code ended the process"

    def _probe(self, requests: list[bytes]) -> None:
        """Run the probes in turn; the inputs of each are decoded only then."""
        self.files.lay_again()
        before = process_state.read(process_state.SETTINGS)
        for message in requests:
            request = ProbeRequest(**wire.decode(message))
            # By its default action a signal ends this process even inside a call into C.
            for signum in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(signum, signal.SIG_DFL)
            process_limits.stop_later(request.seconds, self.limits.wall_factor)
            value = probe_or_failure(request, self.shell.user_ns, self._ask, before)
            answer = _encode_answer(value)
            # Ended while it sends, it would leave half a message, as if it had tampered with them.
            process_limits.stop_later(0, self.limits.wall_factor)
            framing.write(self.channel, answer)

    def _ask(self, question: Any) -> Any:
        """Send a value to the request's partner, and return what that answers."""
        message = wire.encode({"ask": question}, wire.QUESTION_BOUNDS)
        # Ended in between, it would leave half a message, or an answer that nobody waits for.
        process_limits.hold_timers(True)
        # Until the answer is here, others compute or wait for a core: that is nobody's time.
        seconds_left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            framing.write(self.channel, message)
            return framing.read(self.channel)["ask"]
        finally:
            signal.setitimer(signal.ITIMER_REAL, seconds_left)
            process_limits.hold_timers(False)


def _encode_answer(value: Any) -> bytes:
    """Encode a value or a Failure; for a value that may not travel, the Failure that says so."""
    if type(value) is not Failure:
        try:
            return wire.encode({"value": value})
        except WireError as error:
            value = failure_of(error)
    return wire.encode({"failure": [value.kind, value.message]})


def _send(stream: socket.socket, message: dict[str, Any]) -> None:
    framing.write(stream, wire.encode(message))
