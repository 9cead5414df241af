"""The grader's work on one submission: what was sent, answered, and is still to do.

It may need several sessions: whatever ends one is recorded and left out of the next.
"""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from autograder.inside import wire
from autograder.inside.messages import (
    MOST_CHARACTERS,
    MOST_QUESTIONS,
    Failure,
    ProbeRequest,
    WireError,
)
from autograder.inside.process_limits import Limits
from autograder.records import CellResult, Observation, Run
from autograder.sandbox.partner import OpenSession, Partners, without_partner
from autograder.sandbox.session import DiedError, ProtocolError, RunningNotebook

# The worker enforces time limits itself; this much later the grader does it from outside, by the
# clock, so the grace is multiplied by the limits' `wall_factor`, too.
_GRACE_SECONDS = 2.0
# What may be kept of a submission's answers until they are judged, by what they take at most.
_MOST_ANSWERS = 1 << 30
_LATE = "the time limit of the whole submission was exceeded"
# What the clock ends has slept, or the machine has let it wait. The share of the time that it
# computed tells: to sleep takes none, and what an item computes beforehand is less than this.
_COMPUTING = 0.02
STARVED = (
    "the clock ended something that was computing: if the machine that graded was busy, it should "
    "be graded again (autograder grade --again) when there is less to do"
)
"""What is noted where the clock ended something that was computing: it may have cost points."""
_FAILURE_KINDS = (
    "missing", "exception", "unusable", "timeout", "waiting", "memory", "crash", "refused",
    "imported",
)  # fmt: skip


class SubmissionRun:
    """The work on one submission: what was sent, answered, and is still to do.

    Args:
        cpu_clock: what the processes of the sandbox have used, in seconds.
        counts_cpu: find out what the probes use of it, too.
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
        counts_cpu: bool = False,
    ) -> None:
        self.cells = cells
        self.requests = requests
        self.limits = limits
        self.deadline = start + limits.submission_seconds * limits.wall_factor
        self.cpu_seconds = 0.0  # of the sessions that have ended, as far as they tell
        self._cpu_clock = cpu_clock
        self._counts_cpu = counts_cpu
        self._partners = Partners(open_partner, self._within, DiedError) if open_partner else None
        self._probe_cpu_seconds = 0.0
        self._began = self._now()
        self._kept_memory = 0
        self._is_spent = False
        self._has_asked = False
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

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), self._cpu_clock()

    def _note_a_busy_machine(self, began: tuple[float, float]) -> None:
        """Note it if what the clock has ended was computing: that costs no points unseen."""
        elapsed, computed = (now - then for now, then in zip(self._now(), began, strict=True))
        if computed > _COMPUTING * elapsed and STARVED not in self.problems:
            self.problems.append(STARVED)

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
        if time.monotonic() > self.deadline:
            self._note_a_busy_machine(self._began)
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
        began = self._now()
        for index, source in enumerate(self.cells):
            if index in self._fatal_cells:
                continue
            started = time.monotonic()
            try:
                deadline = self._within(self.limits.cell_seconds)
                session.send({"cell": source}, deadline)
                kind, error = session.receive(deadline)
                if kind != "error" or not _is_description(error):
                    raise ProtocolError
            except DiedError as death:
                self._look_at(death)
                error = f"{death.failure.kind}: {death.failure.message}"
                self._fatal_cells.add(index)
                if not self._has_asked:  # else which cell it is could say what was asked
                    self.problems.append(f"cell {index} was left out: {death.failure.message}")
                self.results.setdefault(index, CellResult(index, session.take_output(), error))
                return False
            # A later process runs the cell again, perhaps after something hidden was sent to the
            # one before; what the first one printed stands.
            self.results.setdefault(index, CellResult(index, session.take_output(), error))
            session.take_output()
            if time.monotonic() - started >= self.limits.cell_seconds * self.limits.wall_factor:
                self._note_a_busy_machine(began)
        return True

    # -------------------------------------------------------------- probes
    def _run_probes(self, session: RunningNotebook) -> None:
        """Ask item by item; each time a probe ends its process, go on in a new one.

        What is left of an item in which a case did not end comes after all other items: the time
        that it costs is taken from nobody else's points.
        """
        while group := self._next_group():
            batch = {"requests": [self._sent(request) for _, request in group]}
            if self._is_foretold(group):
                continue
            # Student code may compute while it takes the questions, so the sending counts, too.
            began = self._now()
            self._has_asked = True
            try:
                session.send(batch, self._within(0))
                self._receive_item(session, group)
            except DiedError as death:
                self._look_at(death)
                return
            finally:
                if self._counts_cpu:
                    self._probe_cpu_seconds += max(0.0, self._cpu_clock() - began[1])
            seen = [
                self.observations[index].value for index, _ in group if index in self.observations
            ]
            if any(type(value) is Failure and value.kind == "waiting" for value in seen):
                self._note_a_busy_machine(began)

    def _sent(self, request: ProbeRequest) -> bytes:
        return _encoded(request, self._partners is not None)

    def _is_foretold(self, group: list[tuple[int, ProbeRequest]]) -> bool:
        """Whether a run with another partner says what this one would; if so, observe that."""
        (index, request), *_ = group
        if not request.partner or self._partners is None:
            return False
        started = time.monotonic()
        for answer in self._partners.foretell(request, self._sent(request)):
            self._observe(index, _read_answer(*answer)[0], time.monotonic() - started)
            return True
        return False

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
        """Return the answer to a request; until it comes, pass on what is asked of its partner.

        The time that the partner takes, or waits for a core, is not the student's.
        """
        deadline = self._within(request.seconds)
        if not request.partner or self._partners is None:
            return session.receive(deadline)
        try:
            for _ in range(MOST_QUESTIONS + 1):
                kind, content = session.receive(deadline)
                if kind != "ask":
                    if kind != "died" or "waiting" not in content:  # which chance may decide
                        self._partners.end((kind, content))
                    return kind, content
                started = time.monotonic()
                answer = self._partners.answer(request, content)
                self.deadline += (taken := time.monotonic() - started)
                deadline = min(self.deadline, deadline + taken)
                session.send(answer, deadline)
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


def _is_description(error: object) -> bool:
    """Whether this is what a worker says of how a cell ended."""
    return error is None or (type(error) is str and len(error) <= MOST_CHARACTERS)


def _read_answer(kind: str, content: Any) -> tuple[object, bool]:
    """Return the value or Failure of an answer, and whether its probe process goes on."""
    if kind == "value":
        return content, True
    if kind in ("failure", "died") and type(content) is list and len(content) == 2:
        name, message = content
        if name in _FAILURE_KINDS and type(message) is str:
            return Failure(name, message[:MOST_CHARACTERS]), kind == "failure"
    raise ProtocolError
