"""Run one's own notebook, wherever Python runs: in a process of its own, and without a sandbox.

What a person wrote themselves need not be kept from doing harm, only from never ending. So here is
what `sandbox.Sandbox` offers, as far as that goes: the same shell, the same probes, the same format
of what comes out, the same limits of time. A cell or call that ends the process takes only itself
away, and so does one that never ends. All probes share the process of the cells.
"""

import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from types import MappingProxyType, TracebackType
from typing import Any, Self

from autograder.grading.endless import Stopped, stop_endless
from autograder.handed_out import Files, put
from autograder.inside import process_state, wire
from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import describe, failure_of, probe_or_failure
from autograder.inside.process_limits import Limits
from autograder.records import Run
from autograder.sandbox.session import DiedError
from autograder.sandbox.submission_run import SubmissionRun
from autograder.temporary import temporary_folder

_MOST_ATTEMPTS = 5
_END_SECONDS = 1.0
_CELL_LATE = "TimeLimitError: the time limit of this cell was exceeded"
_CALL_LATE = Failure("timeout", "the time limit of this call was exceeded")


class OwnProcess:
    """Stands where a `Sandbox` stands, for code that its own author grades.

    Args:
        files: what lies beside the notebook, by its path there.
    """

    isolation = "none: one's own code, in a process of its own"

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        files: Files = MappingProxyType({}),
    ) -> None:
        self.limits = limits
        self.files = files

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing: every process has ended."""

    def run(
        self,
        cells: Sequence[str],
        requests: Sequence[ProbeRequest],
        known: Mapping[bytes, Any] | None = None,
        counts_cpu: bool = False,
    ) -> Run:
        """Do what `Sandbox.run` does."""
        started = time.monotonic()
        progress = SubmissionRun(cells, requests, self.limits, started)
        for _ in range(_MOST_ATTEMPTS):
            with _session(self.limits, self.files, known or {}) as session:
                progress.advance(session)
            if progress.is_complete or progress.is_late:
                break
        return progress.close(time.monotonic() - started)


class _Session:
    """This side of the connection to the process; what `sandbox.session.Session` is there."""

    def __init__(self, pipe: "Connection[Any, Any]", known: Mapping[bytes, Any]) -> None:
        self.answers_memory = 0  # one's own code may take what there is
        self._pipe = pipe
        self._known = known

    def send(self, message: dict[str, Any] | bytes, deadline: float) -> None:
        """Send a message; bytes are one already.

        Raises:
            DiedError: if the process is gone.
        """
        try:
            self._pipe.send_bytes(message if isinstance(message, bytes) else wire.encode(message))
        except OSError:
            raise DiedError("crash", "the process ended") from None

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content.

        Raises:
            DiedError: if none comes in time.
        """
        try:
            if not self._pipe.poll(max(0.0, deadline - time.monotonic())):
                raise DiedError("timeout", "the time limit was exceeded")
            data = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise DiedError("crash", "the process ended") from None
        answer = self._known[data] if data in self._known else wire.decode(data)
        ((kind, content),) = answer.items()
        return kind, content

    def take_output(self) -> str:
        """Return nothing: what cells print is for the notebook."""
        return ""


@contextlib.contextmanager
def _session(limits: Limits, files: Files, known: Mapping[bytes, Any]) -> Iterator[_Session]:
    """Start a process, in a folder with nothing but these, and end it whatever it is doing."""
    context = multiprocessing.get_context("spawn")  # the only way on every system
    ours, theirs = context.Pipe()
    with temporary_folder("mine") as folder:
        put(files, folder)
        # No daemon, for those may not load data in processes of their own.
        process = context.Process(target=_serve, args=(theirs, str(folder), limits.cell_seconds))
        process.start()
        theirs.close()
        try:
            yield _Session(ours, known)
        finally:
            ours.close()
            process.join(_END_SECONDS)
            process.kill()
            process.join()


# ------------------------------------------------------------------ the other side
def _serve(pipe: "Connection[Any, Any]", folder: str, cell_seconds: float) -> None:
    """Run cells and probes until the other side hangs up; what they print goes nowhere."""
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(folder)
    sys.path.insert(0, folder)  # as for a kernel: cells import what lies beside the notebook
    nowhere = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    for stream in (1, 2):
        os.dup2(nowhere.fileno(), stream)
    sys.stdout = sys.stderr = nowhere
    from autograder.inside.shell import make_shell

    shell = make_shell()
    with contextlib.suppress(EOFError, OSError):
        while True:
            message = wire.decode(pipe.recv_bytes())
            if "cell" in message:
                error = _run_cell(shell, message["cell"], cell_seconds)
                pipe.send_bytes(wire.encode({"error": error}))
                continue
            before = process_state.read(process_state.SETTINGS)
            late = set()  # parts of which a case has not ended: the others would not either
            for encoded in message["requests"]:
                request = ProbeRequest(**wire.decode(encoded))
                value = _CALL_LATE if request.part in late else _ask(request, shell.user_ns, before)
                late |= {request.part} if value is _CALL_LATE else set()
                pipe.send_bytes(_encoded(value))
            pipe.send_bytes(wire.encode({"done": None}))


def _run_cell(shell: Any, source: str, seconds: float) -> str | None:
    """Run one cell like Jupyter and return its error in one line."""
    try:
        with stop_endless(seconds) as stopped:
            result = shell.run_cell(source, store_history=True)
    except Stopped:
        return _CELL_LATE
    except BaseException as error:
        return describe(error)
    if stopped.is_set():
        return _CELL_LATE
    failure = result.error_before_exec or result.error_in_exec
    return None if failure is None else describe(failure)


def _ask(request: ProbeRequest, namespace: Mapping[str, Any], before: process_state.State) -> Any:
    """Probe once, up to the request's limit of time."""
    try:
        with stop_endless(request.seconds) as stopped:
            value = probe_or_failure(request, namespace, before=before)
    except Stopped:
        return _CALL_LATE
    return _CALL_LATE if stopped.is_set() else value


def _encoded(value: Any) -> bytes:
    """Encode a value or a Failure; for a value that may not travel, the Failure that says so."""
    if not isinstance(value, Failure):
        try:
            return wire.encode({"value": value})
        except WireError as error:
            value = failure_of(error)
    return wire.encode({"failure": [value.kind, value.message]})
