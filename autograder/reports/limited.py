"""What a student may read of a grade before the due date, where a course limits that.

A page cannot say what it has never been given: the grade itself is cut down before anything is made
of it. What is limited, and until when, follows from the course's dates and the grader's own clock,
never from a time that a student's account could have written.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from autograder.authoring.late_policy import Policy
from autograder.intake.repair import RepairedNotebook
from autograder.records import Attempts, Grade, State, Verdict
from autograder.reports.html import when


class Level(StrEnum):
    """How much a student may read; the values but the first are those of `course.toml`."""

    NOTHING = "nothing"
    VISIBLE = "visible"
    PROPERTIES = "properties"
    FULL = "full"


_WORDS = {
    Level.NOTHING: "that it was received, and what is blank",
    Level.VISIBLE: "whether the tests pass that stand in the notebook",
    Level.PROPERTIES: "which properties hold, without what is wrong or a hint",
}


@dataclass(frozen=True)
class Shown:
    """How much a student may read of a grade now.

    Attributes:
        until: from then on it is more; None if it is all, or nobody knows when.
        says: this in sentences, for the student.
    """

    level: Level = Level.FULL
    until: datetime | None = None
    says: tuple[str, ...] = ()

    @property
    def has_points(self) -> bool:
        """Whether points that a machine gave may be read."""
        return self.level in (Level.PROPERTIES, Level.FULL)

    @property
    def words(self) -> str:
        """What may be read, in words."""
        return _WORDS.get(self.level, "everything")


ALL = Shown()


def shown_now(policy: Policy, grade: Grade, now: datetime) -> Shown:
    """Return how much of a grade its student may read.

    Args:
        now: with a time zone.
    """
    level, until = _level(policy, grade, now)
    return Shown(level, until, tuple(_said(policy, grade.attempts, level, until)))


def _level(policy: Policy, grade: Grade, now: datetime) -> tuple[Level, datetime | None]:
    level, seen = Level(policy.feedback), grade.attempts.seen
    is_delayed = bool(policy.feedback_delay)
    if level is Level.FULL and not is_delayed:
        return level, None
    due = policy.extensions.get(grade.student, policy.due)
    full = None
    if due is not None:
        full = due.astimezone(UTC) + policy.grace + policy.full_feedback_delay
        if now >= full:
            return Level.FULL, None
    if is_delayed:
        ready = _ready(seen, policy)
        if ready is None or now < ready:
            moments = [moment for moment in (ready, full) if moment is not None]
            return Level.NOTHING, min(moments, default=None)
    return level, None if level is Level.FULL else full


def _ready(seen: str, policy: Policy) -> datetime | None:
    """Return when the delay is over; None where nobody knows, or a record is damaged."""
    try:
        return datetime.fromisoformat(seen).astimezone(UTC) + policy.feedback_delay
    except (ValueError, TypeError, OverflowError):
        return None


def _said(
    policy: Policy, attempts: Attempts, level: Level, until: datetime | None
) -> Iterator[str]:
    yield from (f"Noticed: {reason}." for reason in attempts.noticed)
    if policy.attempts and attempts.n:
        n, most = attempts.n, max(policy.attempts, attempts.n)
        yield f"This was attempt {n} of {most}; of these the last counts."
    if attempts.n_later:
        n = attempts.n_later
        files = "1 more file, which is" if n == 1 else f"{n} more files, which are"
        last = "" if n == 1 else "of the last one: "
        yield (
            f"After it you handed in {files} kept and not graded ({last}{attempts.later_why}). "
            "What stands here is about the earlier one."
        )
    if level is not Level.FULL:
        more = "" if until is None else f" More will stand here after {when(until.isoformat())}."
        yield f"For now, this page says only {_WORDS[level]}.{more}"


def limited(grade: Grade, shown: Shown, repaired: RepairedNotebook | None) -> Grade:
    """Return a grade that holds nothing but what its student may read.

    What is read only in full goes, and what a hidden test may have left a trace in: at the first
    two levels that is the state, and every remark that was made while the code ran.

    Args:
        repaired: the notebook as it was graded; its own remarks stay.
    """
    if grade.unjudged:  # what happened is for the instructor
        ours = [reason for reason in grade.reasons if reason not in grade.unjudged.values()]
        grade = replace(grade, reasons=tuple(ours), unjudged=dict.fromkeys(grade.unjudged, ""))
    if shown.level is Level.FULL or grade.state is State.REFUSED:
        return grade
    if shown.level is Level.PROPERTIES:
        return replace(grade, verdicts=tuple(map(_without_words, grade.verdicts)))
    bare = Grade(grade.student, grade.problem_set, State.GRADED, grade.sha256, seed=0)
    bare = replace(bare, timing=grade.timing, attempts=grade.attempts)
    bare = replace(bare, reasons=repaired.reasons if repaired is not None else ())
    if shown.level is Level.NOTHING:
        return bare
    return replace(bare, cells=grade.cells, differences=grade.differences, visible=grade.visible)


def _without_words(verdict: Verdict) -> Verdict:
    parts = tuple(replace(part, message="", staff_note="") for part in verdict.parts)
    fault = "the check failed" if verdict.fault else ""
    verdict = replace(verdict, misconception=None, second=None, kept=False)
    return replace(verdict, parts=parts, fault=fault)


def next_moment(policy: Policy, grades: Iterable[Grade], now: datetime) -> datetime | None:
    """Return when the first of these students may read more; None if none of them ever."""
    moments = (shown_now(policy, grade, now).until for grade in grades)
    return min((moment for moment in moments if moment is not None), default=None)


def said_of_class(
    name: str, policy: Policy, grades: Iterable[Grade], now: datetime
) -> Iterator[str]:
    """Say to the instructor how many students read less than all, and what to do about it."""
    shown = [shown_now(policy, grade, now) for grade in grades]
    held = [one for one in shown if one.level is not Level.FULL]
    if not held:
        return
    until = max((one.until for one in held if one.until is not None), default=None)
    levels = ", or ".join(sorted({_WORDS[one.level] for one in held}))
    yield f"for now, the pages of {len(held)} of {len(shown)} students say only {levels}"
    if until is None:
        yield f"{name} has no due date: until it has one, nothing more is shown"
    else:
        yield (
            f"after {when(until.isoformat())}, `autograder dashboard {name}` writes those pages "
            "again; with --watch the grader does it by itself"
        )
