"""Read what was handed in, and see for each submission whether an earlier grade still stands."""

import hashlib
import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from autograder.authoring.release import ReleasedSet
from autograder.class_run.attempts import attempt
from autograder.class_run.containment import describe, is_everybodys
from autograder.class_run.late_days import LateDays
from autograder.class_run.lateness import against_due_date, timing_of
from autograder.class_run.settings import Settings
from autograder.grading.grader import Task
from autograder.grading.judge import submission_seed
from autograder.intake.collection import Collected, Delivery, collect, read_notebook
from autograder.intake.given_times import read_given_times, with_time
from autograder.intake.repair import repair
from autograder.records import (
    Attempts,
    Grade,
    GraderError,
    Origin,
    State,
    Submission,
    SubmissionRefused,
    Timing,
)
from autograder.reports.html import when
from autograder.store.grade_changes import PART
from autograder.store.gradebook import Gradebook
from autograder.store.gradebook_address import sqlite_file
from autograder.store.input_digests import input_digests, part_digests
from autograder.store.journal import Journal, Record

_MOST_NAMES = 20


@dataclass(frozen=True)
class Received:
    """One submission, what its grade will be made from, and what an earlier run made of it.

    Attributes:
        later: another file that came after it, to be kept and not graded.
    """

    task: Task
    timing: Timing
    made_from: Mapping[str, str]
    earlier: Record | None
    origin: Origin
    held: bool = False
    attempts: Attempts = field(default_factory=Attempts)
    later: bytes = field(default=b"", repr=False)

    @property
    def earlier_grade(self) -> Grade:
        """The grade to take over; only asked for where there is one."""
        assert self.earlier is not None
        return self.earlier.grade

    def takes_over(self, resume: bool) -> bool:
        """Whether an earlier grade stands; a fault of the grader deserves another try.

        What took too much to be judged would take it in every run, until something has changed.
        """
        if self.earlier is None or self.held:
            return self.held and self.earlier is not None
        grade = self.earlier.grade
        others = not grade.unjudged or any(verdict.fault for verdict in grade.verdicts)
        fault = grade.state is State.GRADER_FAULT and others
        return resume and self.earlier.key == self.task.key and not fault


def delivered(submissions: Path, released: ReleasedSet, settings: Settings) -> Delivery:
    """Find what was handed in, with the times that somebody has given beside it."""
    zones, others = released.policy.zones, released.course.others_files(released.name)
    delivery = collect(submissions, released.name, settings.layout, zones, others)
    return with_given_times(delivery, released, settings)


def receive(
    released: ReleasedSet,
    delivery: Delivery,
    journal: Journal,
    settings: Settings,
    held: Container[Path],
) -> list[Received]:
    """Copy every submission in before anything runs; a student is there even if the file is not."""
    journal.make_salt()
    received = []
    for arrival in look_at(released, delivery, journal, settings, held):
        if arrival.task.submission.sha256:
            journal.keep(arrival.task.submission.notebook)
            arrival = replace(arrival, task=arrival.task.without_bytes())
        if arrival.later:
            journal.keep(arrival.later)
            arrival = replace(arrival, later=b"")
        if not arrival.held or arrival.earlier is not None:
            received.append(arrival)
    return received


def penalties_before(received: Iterable[Received]) -> dict[str, Collection[float]]:
    """Return what earlier runs took off for each student who was late."""
    earlier = [arrival.earlier for arrival in received if arrival.earlier is not None]
    return {record.grade.student: record.penalties for record in earlier}


def origins(received: Iterable[Received]) -> dict[str, Origin]:
    """Return where each student's submission came from."""
    return {arrival.task.submission.student: arrival.origin for arrival in received}


def look_at(
    released: ReleasedSet,
    delivery: Delivery,
    journal: Journal,
    settings: Settings,
    held: Container[Path] = (),
) -> Iterator[Received]:
    """Read every submission, and what an earlier run recorded of it; write nothing."""
    limits = f"{settings.confinement!r}, {released.policy.seconds:g} s"
    decides = input_digests(released) | {"limits": limits}
    parts = {f"{PART}{name}": digest for name, digest in part_digests(released).items()}
    now = datetime.now(UTC)
    for collected in delivery:
        is_held = collected.path is not None and collected.path in held
        data, refusal = (b"", "it is still being copied") if is_held else _read(collected)
        earlier = journal.read(collected.student)
        counts = _Counts(data, refusal, collected.reasons if collected.path is not None else ())
        if released.policy.counts_attempts and not is_held:
            counts = _counted(counts, earlier, released, journal, now)
        digest, seed = (
            counts.digest,
            submission_seed(journal.salt(), collected.student, released.name),
        )
        made_from = (counts.content, counts.refusal, counts.reasons)
        key = json.dumps([collected.student, *made_from, seed, decides])
        task = Task(
            Submission(collected.student, released.name, counts.data, digest),
            hashlib.sha256(key.encode()).hexdigest(),
            seed,
            counts.reasons,
            counts.refusal,
        )
        own = {"submission": digest or counts.refusal, "questions": str(seed)}
        arrival = Received(
            task,
            Timing(),
            {**own, **decides, **parts},
            earlier,
            collected.origin,
            is_held,
            counts.attempts,
            counts.later,
        )
        if earlier is not None and counts.stands:
            yield _as_timed_before(arrival, earlier, released)
        else:
            yield _timed(arrival, collected, settings, released, now)


@dataclass(frozen=True)
class _Counts:
    """What is graded of one student: the file that came, or an earlier one that stands."""

    data: bytes
    refusal: str
    reasons: tuple[str, ...]
    attempts: Attempts = field(default_factory=Attempts)
    stands: bool = False
    later: bytes = b""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest() if not self.refusal else ""

    @property
    def content(self) -> str:
        return self.attempts.content or self.digest


def _read(collected: Collected) -> tuple[bytes, str]:
    """Return a file's bytes, or why they cannot be read."""
    try:
        return read_notebook(collected), ""
    except SubmissionRefused as error:
        return b"", str(error)
    except Exception as error:
        if is_everybodys(error):
            raise
        return b"", f"its file could not be read: {describe(error)}"


def _counted(
    came: _Counts,
    earlier: Record | None,
    released: ReleasedSet,
    journal: Journal,
    now: datetime,
) -> _Counts:
    """Return what is graded where the course counts attempts.

    What was noticed while a file was collected is said beside the grade and is no part of it: other
    names beside the same notebook would have it graded again.
    """
    try:
        attempts, why = attempt(came.data, came.refusal, earlier, released, now)
    except Exception as error:
        known = earlier.grade.attempts if earlier is not None else Attempts()
        why = f"its attempts could not be counted: {describe(error)}"
        return replace(came, data=b"", refusal=why, reasons=(), attempts=known)
    attempts = replace(attempts, noticed=came.reasons)
    if not why or earlier is None:
        return replace(came, reasons=(), attempts=attempts)
    try:
        data = journal.submission(earlier.grade.student, earlier.grade.sha256).notebook
    except GraderError as error:
        return replace(came, data=b"", refusal=str(error), reasons=(), attempts=attempts)
    return _Counts(data, "", (), attempts, stands=True, later=came.data)


def _timed(
    arrival: Received,
    collected: Collected,
    settings: Settings,
    released: ReleasedSet,
    now: datetime,
) -> Received:
    """Say when a submission came."""
    try:
        if settings.times is None:
            collected = _with_recorded_time(
                collected, arrival.earlier, arrival.task.submission.sha256
            )
        timing = timing_of(collected, released.policy, released.outline.points, now)
    except Exception as error:
        why = f"when it was handed in could not be worked out: {describe(error)}"
        timing = Timing(note=f"{why}; no points were taken off")
    return replace(arrival, timing=timing, origin=_origin(collected))


def _as_timed_before(arrival: Received, earlier: Record, released: ReleasedSet) -> Received:
    """Say when a notebook came that stands though another file came after it."""
    student, points = earlier.grade.student, released.outline.points
    timing = against_due_date(earlier.grade.timing, student, released.policy, points)
    time, source = earlier.origin.time, earlier.origin.time_source
    origin = replace(arrival.origin, time=time, time_source=source)
    return replace(arrival, timing=timing, origin=origin)


def with_given_times(delivery: Delivery, released: ReleasedSet, settings: Settings) -> Delivery:
    """Put in the times of the file that the settings name.

    Raises:
        GraderError: if it cannot be understood; says where.
    """
    if settings.times is None:
        return delivery
    return read_given_times(settings.times, released.policy.zones[-1]).put_into(delivery)


def _with_recorded_time(collected: Collected, earlier: Record | None, digest: str) -> Collected:
    """Take over what a file of times once said of just this notebook."""
    origin = earlier.origin if earlier is not None else Origin()
    if earlier is None or not origin.time or earlier.grade.sha256 != digest:
        return collected
    return with_time(collected, datetime.fromisoformat(origin.time), origin.time_source)


def _origin(collected: Collected) -> Origin:
    if not collected.is_time_given or collected.submitted_at is None:
        return collected.origin
    time = collected.submitted_at.isoformat()
    return replace(collected.origin, time=time, time_source=collected.time_source)


def gradebook_gone(settings: Settings, journal: Journal) -> Iterator[str]:
    """Say that the gradebook is new though people were graded: their points by hand are gone."""
    path = sqlite_file(settings.url)
    if path is not None and not path.exists() and journal.students():
        yield (
            f"{path} is not there, though people were graded: a new one is made, with the "
            "machine's points and none that were given by hand; if you have a backup, put it in "
            "its place"
        )


def said_before(released: ReleasedSet, received: Sequence[Received]) -> Iterator[str]:
    """Say, before anything is graded, what the due date cannot do for want of times."""
    due, n = released.policy.due, len(received)
    unknown = of_unknown_time(received)
    marked = sum(one.timing.mark == "late" for one in received)
    if due is not None and unknown:
        some = f"{len(unknown)} of {n} here ({listed(unknown)})"
        who = "anybody here" if len(unknown) == n else some
        yield (
            f"{released.name} is due {when(due.isoformat())}, but it is not known when {who} "
            "handed in, so no points are taken off; --times FILE says it (see grade --help)"
        )
    if marked:
        yield (
            f"{marked} of {n} are marked as late by the platform, which does not say by how much: "
            "each counts as late by the least that costs points; --times FILE says more"
        )


def of_unknown_time(received: Iterable[Received]) -> list[str]:
    """Return the students who have a due date, and of whom nobody knows when they handed in."""
    unknown = [one for one in received if one.timing.due and not one.timing.source]
    return sorted(one.task.submission.student for one in unknown)


def listed(names: Sequence[str]) -> str:
    """Return names as one line, the first of them if they are many."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def with_points_of_nbgrader(
    released: ReleasedSet, received: Iterable[Received], settings: Settings
) -> dict[str, float]:
    """Return the points of those whom nbgrader itself has graded: no earlier run here did."""
    new = sorted(one.task.submission.student for one in received if one.earlier is None)
    if not new or released.course.has_checks or settings.has_no_gradebook:
        return {}
    with Gradebook(settings.url) as book:
        points = book.machine_points(released.name)
    return {student: points[student] for student in new if student in points}


def _why(arrival: Received, resume: bool) -> str:
    """Say why a submission is graded though something is recorded for its student."""
    if arrival.earlier is None:
        return "it is new"
    if arrival.earlier.key == arrival.task.key:
        return "the grader had failed" if resume else "asked to grade again"
    names = {name.partition(":")[0].removeprefix(PART) for name in _changed_names(arrival)}
    return f"changed since it was graded: {', '.join(sorted(names))}"


def _changed_names(arrival: Received) -> list[str]:
    """Names of what the earlier grade was made from and is different now."""
    before = arrival.earlier.made_from if arrival.earlier is not None else {}
    return [
        name
        for name in {**before, **arrival.made_from}
        if before.get(name) != arrival.made_from.get(name)
    ]


def _with_late_days(arrival: Received, refusal: str, late_days: LateDays) -> Timing:
    """Return when it came, with the late days that it would use if it was graded."""
    one = arrival.task.submission
    state = State.REFUSED if refusal else State.GRADED
    grade = Grade(one.student, one.problem_set, state, one.sha256, arrival.task.seed)
    return late_days.apply(replace(grade, timing=arrival.timing)).timing


@dataclass(frozen=True)
class Planned:
    """What would be done with one submission: "grade", "take over" or "refuse", and why."""

    student: str
    action: str
    reason: str
    timing: Timing


def plan(
    released: ReleasedSet,
    submissions: Path,
    settings: Settings,
    warned: Callable[[Sequence[str]], None] = lambda lines: None,
) -> tuple[Planned, ...]:
    """Say what `grade_class` would do with each submission; write nothing, run nothing.

    Args:
        warned: is told what the due date cannot do for want of times.

    Raises:
        GraderError: as `grade_class`.
    """
    journal = Journal(settings.out, released.name)
    planned, late_days = [], LateDays(released, settings.out)
    delivery = delivered(submissions, released, settings)
    arrivals = list(look_at(released, delivery, journal, settings))
    warned(tuple(said_before(released, arrivals)))
    theirs = with_points_of_nbgrader(released, arrivals, settings)
    for arrival in arrivals:
        task, refusal = arrival.task, arrival.task.refusal
        if not refusal:
            try:
                repair(task.submission.notebook, released)
            except SubmissionRefused as error:
                refusal = str(error)
            except Exception as error:
                refusal = f"its notebook could not be read: {describe(error)}"
        student = task.submission.student
        timing = _with_late_days(arrival, refusal, late_days)
        if arrival.takes_over(settings.resume):
            why = arrival.attempts.later_why
            why = f"what came later is not graded: {why}" if why else "nothing has changed"
            planned.append(Planned(student, "take over", why, timing))
        elif refusal:
            planned.append(Planned(student, "refuse", refusal, timing))
        else:
            why = _why(arrival, settings.resume)
            if student in theirs:
                why += f"; nbgrader gave {theirs[student]:g} points: write over them with --replace"
            planned.append(Planned(student, "grade", why, timing))
    return tuple(planned)
