"""What became of a class, who hears of it on the way, and what has to be said about it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.authoring.outline import Outline
from autograder.authoring.release import ReleasedSet
from autograder.class_run.plan import Received, listed, of_unknown_time
from autograder.intake.collection import Delivery
from autograder.records import Grade, State
from autograder.reports.html import said_of_kept
from autograder.reports.instructor_pages import HandGrades
from autograder.reports.limited import said_of_class
from autograder.store.grade_changes import Change


@dataclass(frozen=True)
class ClassResult:
    """What became of a class: one grade for each submission received.

    Attributes:
        reused: how many grades were taken over from an earlier run.
        by_hand: for each student, what people gave for each cell.
        changes: whose grade differs from the one recorded earlier, and why.
        notices: what an instructor should know about the class as a whole.
        page: the instructor's page, which leads to each student's.
    """

    problem_set: str
    outline: Outline
    grades: tuple[Grade, ...]
    by_hand: HandGrades
    reused: int
    changes: tuple[Change, ...]
    seconds: float
    page: Path
    notices: tuple[str, ...] = ()

    @property
    def states(self) -> Counter[State]:
        """How many submissions ended in each state."""
        return Counter(grade.state for grade in self.grades)


@dataclass
class Watcher:
    """Who wants to hear how a run goes on; every method may be replaced."""

    received: Callable[[int], None] = lambda n_submissions: None
    graded: Callable[[Grade, bool], None] = lambda grade, reused: None
    delivered: Callable[[Delivery], None] = lambda delivery: None
    warned: Callable[[Sequence[str]], None] = lambda lines: None


def notices(
    released: ReleasedSet,
    received: Sequence[Received],
    grades: Sequence[Grade],
    kept: Iterable[Path | None],
) -> Iterator[str]:
    """What is to be said once for the whole class: about tests, due dates, and what was written.

    Args:
        kept: pages and notebooks as they were, in which somebody had written.
    """
    here = {arrival.task.submission.student for arrival in received}
    name = released.name
    for cell, why in released.left_to_people.items():
        yield f"{cell} is left for people to grade: {why}"
    for student in released.policy.extensions:
        if student not in here:
            yield f"an extension names {student!r}, but nobody of that name has handed in {name}"
    if unknown := of_unknown_time(received):
        yield (
            f"{name} has a due date, but nobody knows when {len(unknown)} of {len(received)} were "
            f"handed in, so no points were taken off: {listed(unknown)}"
        )
    yield from said_of_kept(kept)
    yield from said_of_class(name, released.policy, grades, datetime.now(UTC))


def missing(known: Collection[str], received: Sequence[Received]) -> Iterator[str]:
    """Name who is in the gradebook and not in this delivery."""
    missing = sorted(set(known) - {arrival.task.submission.student for arrival in received})
    if missing:
        yield (
            f"{len(missing)} in the gradebook handed in nothing here; what was recorded of them "
            f"stays: {listed(missing)}"
        )


def replaced(theirs: Mapping[str, float], grades: Iterable[Grade]) -> Iterator[str]:
    """Name whose points are others than those that nbgrader gave."""
    now = {grade.student: grade.points for grade in grades}
    changed = [
        f"{student} {points:g} → {now[student]:g}"
        for student, points in theirs.items()
        if points != now[student]
    ]
    if theirs:
        yield (
            f"of {len(theirs)} that nbgrader had graded, {len(changed)} have other points now"
            + (f": {listed(changed)}" if changed else "")
        )
