"""The records that travel between the stages of grading, and the few errors that stop one.

Every stage takes records and returns records; none knows the others. Records are frozen, hold
plain data only, and can be written to disk as they are. What crosses into the sandbox is defined
in `autograder.inside.messages`. This file imports nothing of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Self


class GraderError(Exception):
    """Something an instructor can fix; its text says what and how."""


class NothingHandedIn(GraderError):
    """There is no submission in a place, or there is no such place; both may come."""


class SubmissionRefused(GraderError):
    """A notebook that cannot be graded at all; the reason is recorded as its grade."""


class SandboxUnavailable(GraderError):
    """Student code cannot be isolated on this machine, so nothing of it is run."""


class CheckFault(GraderError):
    """A check broke on the reference version or while judging: the course's fault."""


@dataclass(frozen=True)
class Submission:
    """One student's notebook for one problem set, as received."""

    student: str
    problem_set: str
    notebook: bytes
    sha256: str


@dataclass(frozen=True)
class Origin:
    """By which names a submission came: its platform knows it again by these.

    Attributes:
        layout: how the delivery named students and files; empty if nothing came.
        parts: the names that led to the notebook, or else to what came instead.
        secret: under which nbgrader's exchange publishes feedback; empty if there is none.
        time: when it was handed in, ISO 8601, where a file of times said so; else empty.
        time_source: that file's name.
    """

    layout: str = ""
    parts: tuple[str, ...] = ()
    secret: str = field(default="", repr=False)
    time: str = ""
    time_source: str = ""


@dataclass(frozen=True)
class Observation:
    """The answer to one `ProbeRequest`: a plain value, or the Failure that came instead."""

    item: str
    part: str
    case: int
    value: object
    seconds: float = 0.0


@dataclass(frozen=True)
class CellResult:
    """What one cell of the student's notebook did; all text comes from student code."""

    index: int
    output: str
    error: str | None = None


@dataclass(frozen=True)
class Run:
    """Everything that came out of the sandbox for one submission.

    Attributes:
        tampered: student code has sent messages in the worker's place, or looked for the grader.
        probe_cpu_seconds: of all its processes while they were probed, as the kernel counts them;
            0 where nobody asked for it.
    """

    cells: tuple[CellResult, ...]
    observations: tuple[Observation, ...]
    seconds: float
    problems: tuple[str, ...] = ()
    tampered: bool = False
    probe_cpu_seconds: float = 0.0


@dataclass(frozen=True)
class PartVerdict:
    """Whether an answer has one property of its item, and if not, what the student may read.

    Attributes:
        message: what is wrong, in words; never inputs, expected values or test source.
        staff_note: what only the instructor may read.
    """

    part: str
    passed: bool
    weight: float
    message: str = ""
    staff_note: str = ""


@lru_cache(maxsize=4096)
def _one_for_equals(part: PartVerdict) -> PartVerdict:
    """Return the one that stands for all that are equal: most of a class has most properties."""
    return part


def _without_note(part: PartVerdict) -> PartVerdict:
    return _one_for_equals(replace(part, staff_note=""))


@dataclass(frozen=True)
class Misconception:
    """A typical mistake that explains every wrong answer of an item, alone or beside another."""

    name: str
    hint: str


@dataclass(frozen=True)
class Verdict:
    """The judgement of one graded item.

    Attributes:
        second: the other mistake, where it takes two to explain the answer.
        kept: whether the points are what the mistakes leave, which is more than the parts earn.
    """

    item: str
    points: float
    max_points: float
    parts: tuple[PartVerdict, ...]
    misconception: Misconception | None = None
    fault: str = ""
    second: Misconception | None = None
    kept: bool = False

    @property
    def misconceptions(self) -> tuple[Misconception, ...]:
        """The mistakes that explain the answer: none, one, or two at once."""
        return tuple(one for one in (self.misconception, self.second) if one is not None)


@dataclass(frozen=True)
class HandGrade:
    """What people and nbgrader say about one graded cell of a submission.

    Attributes:
        points: given by a person in place of the machine's; None if nobody has.
        waiting: a person has still to look at it; if there are points, once more.
        extra: credit that a person has added to whatever else counts.
        earlier_points: points and extra credit were given for an answer that has changed since.
        earlier_comment: so was the comment.
        blank: nothing was answered, which is worth 0 without a person.
    """

    points: float | None
    comment: str = ""
    waiting: bool = False
    extra: float = 0.0
    earlier_points: bool = False
    earlier_comment: bool = False
    blank: bool = False

    def counts(self, machine: float | None) -> float | None:
        """Return what the cell is worth, as nbgrader counts it; None if nobody has judged it.

        Args:
            machine: the points that a machine gave; None if it gave none.
        """
        judged = machine if self.points is None else self.points
        return (judged or 0.0) + self.extra if self.extra else judged

    @property
    def is_of_person(self) -> bool:
        """Whether a person has given anything."""
        return self.points is not None or bool(self.extra or self.comment)

    @property
    def is_of_earlier(self) -> bool:
        """Whether something that a person gave was for an answer that has changed since."""
        return self.earlier_points or self.earlier_comment


@dataclass(frozen=True)
class Difference:
    """The first claim of an item's visible test that an answer does not meet.

    Attributes:
        asked: the expression of the test whose value is another than claimed; empty where the test
            stops with an error.
        found: what the student's code makes of it; several numbers, or one text. Empty, as
            `expected` is, where the claim does not compare two values.
        says: the message of the test, or of the error.
    """

    item: str
    asked: str
    found: str | tuple[float, ...]
    expected: str | tuple[float, ...]
    says: str = ""


@dataclass(frozen=True)
class Timing:
    """When a submission came, against its due date. Times are ISO 8601 with an offset from UTC.

    Attributes:
        submitted: when it was handed in; empty if nobody knows.
        source: where that time was read, in words.
        due: the date that counts for this student, an extension included; empty if there is none.
        extended: whether that date is this student's own.
        seconds_late: beyond `due`; 0 within the grace period.
        penalty: points taken away from what was earned.
        note: what an instructor should know about these times.
        marked_late: the learning platform calls it late, though by these times it is not.
        mark: "late" or "on time", as the platform's own mark has it, where that is all that is
            known; late is then late by the least that counts.
        late_days: of the student's late days for the whole course, those spent on this set.
        late_days_left: after this set, by due date; None if the course has none, or the set no
            due date, or nothing could be read.
    """

    submitted: str = ""
    source: str = ""
    due: str = ""
    extended: bool = False
    seconds_late: float = 0.0
    penalty: float = 0.0
    note: str = ""
    marked_late: bool = False
    mark: str = ""
    late_days: int = 0
    late_days_left: int | None = None

    @property
    def is_late(self) -> bool:
        """Whether it came after the due date and the grace period, by its time or by a mark."""
        return self.seconds_late > 0 or self.mark == "late"


@dataclass(frozen=True)
class Attempts:
    """Which of a student's notebooks counts, where a course limits their number or delays feedback.

    Attributes:
        n: how many different ones were graded so far; 0 where none is counted.
        content: digest of what was graded of the one that counts, the last of them.
        seen: when the grader saw that one first, by its own clock, ISO 8601 with an offset.
        n_later: how many other files came after it, which are kept and were not graded.
        later_sha256: of the last of these.
        later_why: why it was not graded, in words.
        noticed: what was noticed while the files were collected, the last time.
    """

    n: int = 0
    content: str = ""
    seen: str = ""
    n_later: int = 0
    later_sha256: str = ""
    later_why: str = ""
    noticed: tuple[str, ...] = ()


class State(StrEnum):
    """How a submission ended; every submission ends in exactly one of these."""

    GRADED = "graded"
    GRADED_WITH_PROBLEMS = "graded with problems"
    TAMPERED = "tampering"
    REFUSED = "refused"
    GRADER_FAULT = "grader fault"


@dataclass(frozen=True)
class Grade:
    """The recorded result of one submission.

    Attributes:
        reasons: what was repaired, ignored or refused, for the instructor and the student.
        isolation: what kept the student's code away from the grader, in words.
        differences: on inputs that stand in the released notebook, never on hidden ones.
        visible: for each item with a visible test that was run, whether it passes.
        timing: by the course's policy; never part of what decides `verdicts`.
        attempts: likewise.
        unjudged: items without a verdict, since what judges them took too much, and what happened.
    """

    student: str
    problem_set: str
    state: State
    sha256: str
    seed: int
    verdicts: tuple[Verdict, ...] = ()
    reasons: tuple[str, ...] = ()
    isolation: str = ""
    seconds: float = 0.0
    cells: tuple[CellResult, ...] = field(default=(), repr=False)
    differences: tuple[Difference, ...] = ()
    timing: Timing = field(default_factory=Timing)
    visible: Mapping[str, bool] = field(default_factory=dict)
    attempts: Attempts = field(default_factory=Attempts)
    unjudged: Mapping[str, str] = field(default_factory=dict)

    def for_tables(self) -> Self:
        """Return it without what is long and stands only in its record: a class fits in memory."""
        verdicts = tuple(
            replace(verdict, parts=tuple(map(_without_note, verdict.parts)))
            for verdict in self.verdicts
        )
        return replace(self, verdicts=verdicts, cells=())

    @property
    def points(self) -> float:
        """Sum of the items' points, before any penalty."""
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def final_points(self) -> float:
        """The points that are left after a penalty."""
        return max(0.0, self.points - self.timing.penalty)

    @property
    def max_points(self) -> float:
        """Sum of the items' highest points."""
        return sum(verdict.max_points for verdict in self.verdicts)


@dataclass(frozen=True)
class ItemScore:
    """What one item of a submission counts in the end.

    Attributes:
        points: a person's where there are any, else the machine's.
        waiting: a person has still to grade it, and it counts nothing until then.
        comment: by a person.
        by_hand: what people gave, and for which answer.
    """

    name: str
    points: float
    max_points: float
    waiting: bool = False
    comment: str = ""
    by_hand: HandGrade | None = None


@dataclass(frozen=True)
class FinalScore:
    """What a submission counts in the end, as the gradebook has it.

    Attributes:
        points: of machine and people together, less the penalty, and never below zero.
        penalty: points taken off for being late.
        raw_points: before the penalty.
        due: when it was due, in UTC, as nbgrader writes it; empty if there is no such date.
        submitted: when it came, likewise.
        late_days: as `Timing` has them, and `late_days_left`.
    """

    student: str
    points: float
    max_points: float
    penalty: float = 0.0
    email: str = ""
    items: tuple[ItemScore, ...] = ()
    raw_points: float = 0.0
    due: str = ""
    submitted: str = ""
    last_name: str = ""
    first_name: str = ""
    late_days: int = 0
    late_days_left: int | None = None

    @property
    def is_graded(self) -> bool:
        """Whether anybody, machine or person, has graded anything of it."""
        return not self.items or not all(item.waiting for item in self.items)
