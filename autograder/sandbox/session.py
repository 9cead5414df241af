"""The grader's side of one submission's session: what was sent, answered, and is still to do.

A `Session` is the connection to one process in the sandbox, which student code may control; a
`Progress` is the work on one submission, which may need several sessions: whatever ends one is
recorded and left out of the next.
"""

import functools
import os
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from autograder.inside import framing, wire
from autograder.inside.messages import (
    ALL_OUT_OF_TIME,
    CELL_OUT_OF_TIME,
    MOST_QUESTIONS,
    NOT_ISOLATED,
    OUT_OF_MEMORY,
    Failure,
    ProbeRequest,
    WireError,
)
from autograder.inside.process_limits import Limits
from autograder.records import CellResult, Observation, Run
from autograder.sandbox.cgroup import ControlGroup
from autograder.sandbox.partner import OpenSession, Partners, without_partner

# The worker enforces time limits itself; this much later the grader does it from outside, by the
# clock, so the grace is multiplied by the limits' `wall_factor`, too.
_GRACE_SECONDS = 2.0
_REPORT_SECONDS = 180.0  # in which all is killed and deleted, however busy the machine is
_MOST_OUTPUT = 64 << 20
# What may be kept of a submission's answers until they are judged, by what they take at most.
_MOST_ANSWERS = 1 << 30
_LATE = "the time limit of the whole submission was exceeded"
_FAILURE_KINDS = (
    "missing", "exception", "unusable", "timeout", "waiting", "memory", "crash", "refused",
    "imported",
)  # fmt: skip


class DiedError(Exception):
    """A submission's process has ended, or must be ended, before it was done."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


class ProtocolError(DiedError):
    """A message is malformed: student code has written it, as the worker writes none such."""

    def __init__(self, message: str = "an answer that does not fit the protocol") -> None:
        super().__init__("refused", message)


class ServerDiedError(Exception):
    """The warm server is gone; no submission is to blame."""


class RunningNotebook(Protocol):
    """A process in which a notebook's cells run and its probes after them; `Session` says more.

    Attributes:
        answers_memory: what all its answers together take at most, in bytes.
    """

    answers_memory: int

    def send(self, message: dict[str, Any], deadline: float) -> None:
        """Send a message."""

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content."""

    def take_output(self) -> str:
        """Return what was printed since the last call."""


class Session:
    """The connection to one process in the sandbox.

    Attributes:
        known: values of messages that need not be decoded.
        group: in which its processes are; None where there is none.
        cpu_seconds: what the process and all below it have used, known when it has ended.
        answers_memory: what all answers together take at most, in bytes.
    """

    def __init__(
        self,
        channel: socket.socket,
        output: int,
        kill_pipe: int,
        control: socket.socket,
        keep: int,
        known: Mapping[bytes, Any] | None = None,
        group: ControlGroup | None = None,
    ) -> None:
        self.channel = channel
        self.output = output
        self.kill_pipe = kill_pipe
        self.control = control
        self.keep = keep
        self.known = known
        self.group = group
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.answers_memory = 0
        self._printed = bytearray()
        self._n_printed = 0
        self._n_total = 0
        self._output_is_open = True
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._poll.register(output, select.POLLIN)
        os.set_blocking(output, False)

    def send(self, message: dict[str, Any], deadline: float) -> None:
        """Send a message.

        Raises:
            DiedError: if it is not taken in time.
        """
        try:
            framing.write(self.channel, wire.encode(message), deadline)
        except TimeoutError:
            raise DiedError("timeout", "the time limit was exceeded") from None
        except OSError:
            raise self._died() from None

    def receive(self, deadline: float) -> tuple[str, Any]:
        """Return the next answer: its kind and its content.

        Raises:
            DiedError: if none comes in time, or it is malformed.
        """
        try:
            self._wait(deadline)
            answer = self._meaning(framing.receive(self.channel, deadline))
        except WireError as error:
            raise ProtocolError(str(error)) from None
        except TimeoutError:
            raise DiedError("timeout", "the time limit was exceeded") from None
        except (EOFError, OSError):
            raise self._died() from None
        self._drain()
        if type(answer) is not dict or len(answer) != 1 or type(next(iter(answer))) is not str:
            raise ProtocolError
        return next(iter(answer.items()))

    def _meaning(self, message: bytes) -> Any:
        if self.known and message in self.known:
            return self.known[message]
        self.answers_memory += wire.most_memory(message)
        return wire.decode(message)

    def take_output(self) -> str:
        """Return what was printed since the last call, cut to the limit."""
        text = self._printed.decode("utf-8", "replace")
        if self._n_printed > len(self._printed):
            text += f"\n[{self._n_printed - len(self._printed)} more bytes were printed]"
        self._printed.clear()
        self._n_printed = 0
        return text

    def end(self) -> int:
        """Close, wait until every process of the submission is gone, return how it ended.

        Raises:
            ServerDiedError: if the server does not say.
        """
        if self.status is None:
            self.close()
            try:
                report = framing.read(self.control, time.monotonic() + _REPORT_SECONDS)
            except (EOFError, OSError):
                self.status = NOT_ISOLATED
            else:
                self.status = int(report["status"])
                self.cpu_seconds = float(report["cpu_seconds"])
                if self.group is not None:
                    self.group.kill()  # also what has hidden from its supervisor
                    if self.group.ran_out_of_memory():
                        self.status = OUT_OF_MEMORY
        if self.status == NOT_ISOLATED:
            raise ServerDiedError
        return self.status

    def close(self) -> None:
        """Close this side; the supervisor then kills the other."""
        self.channel.close()
        os.close(self.output)
        os.close(self.kill_pipe)

    def _died(self) -> DiedError:
        status = self.end()
        if status == OUT_OF_MEMORY:
            return DiedError("memory", "more memory was used than is allowed")
        if status == CELL_OUT_OF_TIME:
            return DiedError("timeout", "the time limit was exceeded")
        if status == ALL_OUT_OF_TIME:
            return DiedError("late", _LATE)
        return DiedError("crash", "the process ended")

    def _wait(self, deadline: float) -> None:
        """Wait for an answer; read the output meanwhile, or the other side would block."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready = {fd for fd, _ in self._poll.poll(left * 1000)}
            if self.output in ready:
                self._drain()
            if self.channel.fileno() in ready:
                return

    def _drain(self) -> None:
        while self._output_is_open:
            try:
                data = os.read(self.output, 1 << 16)
            except BlockingIOError:
                return
            if not data:  # the student closed it: nothing more will come
                self._output_is_open = False
                self._poll.unregister(self.output)
                return
            self._printed += data[: self.keep - len(self._printed)]
            self._n_printed += len(data)
            self._n_total += len(data)
            if self._n_total > _MOST_OUTPUT:
                raise DiedError("refused", f"more than {_MOST_OUTPUT >> 20} MB were printed")


class Progress:
    """What is known of one submission so far.

    Args:
        cpu_clock: what the processes of the sandbox have used, in seconds.
        open_partner: starts a process in another sandbox, for an implementation that student code
            may call and never meets; None where it may meet it, since the code is the caller's own.
    """

    def __init__(
        self,
        cells: Sequence[str],
        requests: Sequence[ProbeRequest],
        limits: Limits,
        start: float,
        cpu_clock: Callable[[], float] = float,
        open_partner: OpenSession | None = None,
    ) -> None:
        self.cells = cells
        self.requests = requests
        self.limits = limits
        self.deadline = start + limits.submission_seconds * limits.wall_factor
        self.cpu_seconds = 0.0  # of the sessions that have ended, as far as they tell
        self._cpu_clock = cpu_clock
        self._partners = Partners(open_partner, self._within, DiedError) if open_partner else None
        self._probe_cpu_seconds = 0.0
        self._kept_memory = 0
        self._is_spent = False
        self.results: dict[int, CellResult] = {}
        self.observations: dict[int, Observation] = {}
        self.problems: list[str] = []
        self.tampered = False
        self._fatal_cells: set[int] = set()

    @property
    def is_complete(self) -> bool:
        """Whether every cell has a result and every request an observation."""
        cells, requests = len(self.results), len(self.observations)
        return cells == len(self.cells) and requests == len(self.requests)

    @property
    def is_late(self) -> bool:
        """Whether the time of the whole submission is used up."""
        spent = self._is_spent or self.cpu_seconds >= self.limits.submission_seconds
        return spent or time.monotonic() > self.deadline

    def advance(self, session: RunningNotebook) -> None:
        """Go on with a fresh process until all is done or something ends it."""
        try:
            if self._run_cells(session):
                self._run_probes(session)
        finally:
            self._kept_memory += session.answers_memory
            if self._partners is not None:
                self._partners.close()

    def note_tampering(self, reason: str) -> None:
        """Note that student code has attacked the grader; how often makes no difference."""
        self.tampered = True
        if reason not in self.problems:
            self.problems.append(reason)

    def _look_at(self, death: DiedError) -> None:
        """Note what follows for the whole submission from how a session ended.

        Student code may have sent messages in the worker's place, or have used up all time.
        """
        self._is_spent = self._is_spent or death.failure.kind == "late"
        if isinstance(death, ProtocolError):
            # Without the error: its numbers are the submission's, and students read this.
            self.note_tampering("messages out of the sandbox were tampered with")

    def close(self, seconds: float) -> Run:
        """Return the run; what was never reached is a Failure."""
        late = Failure("late", _LATE)
        lost = Failure("crash", "the processes of this submission ended too often")
        for index in range(len(self.cells)):
            self.results.setdefault(index, CellResult(index, "", "this cell was not run"))
        reason = late if self.is_late else lost
        for index in range(len(self.requests)):
            if index not in self.observations:
                self._observe(index, reason, 0.0)
        return Run(
            tuple(result for _, result in sorted(self.results.items())),
            tuple(observation for _, observation in sorted(self.observations.items())),
            seconds,
            tuple(self.problems),
            self.tampered,
            self._probe_cpu_seconds,
        )

    def _within(self, seconds: float) -> float:
        wall_seconds = (seconds + _GRACE_SECONDS) * self.limits.wall_factor
        return min(self.deadline, time.monotonic() + wall_seconds)

    # -------------------------------------------------------------- cells
    def _run_cells(self, session: RunningNotebook) -> bool:
        """Run the cells; False if one of them ended the process."""
        for index, source in enumerate(self.cells):
            if index in self._fatal_cells:
                continue
            try:
                deadline = self._within(self.limits.cell_seconds)
                session.send({"cell": source}, deadline)
                kind, error = session.receive(deadline)
                if kind != "error" or type(error) not in (str, type(None)):
                    raise ProtocolError
            except DiedError as death:
                self._look_at(death)
                error = f"{death.failure.kind}: {death.failure.message}"
                self._fatal_cells.add(index)
                self.problems.append(f"cell {index} was left out: {death.failure.message}")
                self.results.setdefault(index, CellResult(index, session.take_output(), error))
                return False
            # A later process runs the cell again, perhaps after something hidden was sent to the
            # one before; what the first one printed stands.
            self.results.setdefault(index, CellResult(index, session.take_output(), error))
            session.take_output()
        return True

    # -------------------------------------------------------------- probes
    def _run_probes(self, session: RunningNotebook) -> None:
        """Ask item by item; each time a probe ends its process, go on in a new one.

        What is left of an item in which a case did not end comes after all other items: the time
        that it costs is taken from nobody else's points.
        """
        while group := self._next_group():
            hides = self._partners is not None
            batch = {"requests": [_encoded(request, hides) for _, request in group]}
            # Student code may compute while it takes the questions, so the sending counts, too.
            used = self._cpu_clock()
            try:
                session.send(batch, self._within(0))
                self._receive_item(session, group)
            except DiedError as death:
                self._look_at(death)
                return
            finally:
                self._probe_cpu_seconds += max(0.0, self._cpu_clock() - used)

    def _next_group(self) -> list[tuple[int, ProbeRequest]]:
        """Return the open requests of one item, with their places; none if all is done.

        One with a partner is asked alone, in a process that has met no other.

        Later cases of a part in which a case did not end fail at once, as that did.
        """
        hung = {
            (seen.item, seen.part): seen.value
            for seen in self.observations.values()
            if type(seen.value) is Failure and seen.value.kind in ("timeout", "waiting")
        }
        waiting = []
        for index, request in enumerate(self.requests):
            if index not in self.observations:
                failure = hung.get((request.item, request.part))
                if failure is None:
                    waiting.append((index, request))
                else:
                    self._observe(index, failure, 0.0)
        slow = {item for item, _ in hung}
        waiting.sort(key=lambda pair: pair[1].item in slow)
        if waiting and waiting[0][1].partner:
            return waiting[:1]
        return [pair for pair in waiting if pair[1].item == waiting[0][1].item]

    def _receive_item(
        self, session: RunningNotebook, group: list[tuple[int, ProbeRequest]]
    ) -> None:
        """Receive the answers of one probe process, as far as it comes.

        Raises:
            DiedError: if the whole session has ended, or does not follow the protocol.
        """
        for index, request in group:
            started = time.monotonic()
            try:
                value, goes_on = _read_answer(*self._hear(session, request))
            except DiedError as death:
                self._observe(index, death.failure, time.monotonic() - started)
                raise
            if self._kept_memory + session.answers_memory > _MOST_ANSWERS:
                value = Failure("refused", "its answers are too large together")
            self._observe(index, value, time.monotonic() - started)
            if not goes_on:
                return
        if session.receive(self._within(0))[0] not in ("done", "died"):
            raise ProtocolError

    def _hear(self, session: RunningNotebook, request: ProbeRequest) -> tuple[str, Any]:
        """Return the answer to a request; until it comes, pass on what is asked of its partner."""
        deadline = self._within(request.seconds)
        if not request.partner or self._partners is None:
            return session.receive(deadline)
        self._partners.begin()
        try:
            for _ in range(MOST_QUESTIONS + 1):
                kind, content = session.receive(deadline)
                if kind != "ask":
                    return kind, content
                answer = self._partners.answer(request, content)
                session.send({"told": answer}, deadline)
        except WireError as error:
            raise ProtocolError(str(error)) from None
        raise ProtocolError("more questions than a worker sends")

    def _observe(self, index: int, value: object, seconds: float) -> None:
        request = self.requests[index]
        self.observations[index] = Observation(
            request.item, request.part, request.case, value, seconds
        )


@functools.lru_cache(maxsize=1024)
def _encoded(request: ProbeRequest, hides_partner: bool) -> bytes:
    """Encode a request once: students who share a seed share their requests."""
    if hides_partner:
        request = without_partner(request)
    fields = {name: getattr(request, name) for name in request.__dataclass_fields__}
    return wire.encode(fields)


def _read_answer(kind: str, content: Any) -> tuple[object, bool]:
    """Return the value or Failure of an answer, and whether its probe process goes on."""
    if kind == "value":
        return content, True
    if kind in ("failure", "died") and type(content) is list and len(content) == 2:
        name, message = content
        if name in _FAILURE_KINDS and type(message) is str:
            return Failure(name, message[:500]), kind == "failure"
    raise ProtocolError
