"""Late days: a budget of days for the whole course that students spend by handing in late.

Many courses have them (slip days, grace days, late passes): each student may be late by a few days
in all, on whichever sets, and nothing is taken off; `late_days = 5` in `course.toml` says how many.
They are spent automatically, set by set in the order of the due dates: each day that has begun
after the due date costs one, never more of them than lower the penalty, and what is late beyond
them loses points as always.

Which set uses how many follows from the recorded times alone. So when an earlier set is graded
later, handed in anew or given another due date, all sets that are due after it are counted again.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.authoring.late_policy import Policy
from autograder.authoring.notebooks import assignment_and_notebook
from autograder.authoring.release import ReleasedSet
from autograder.class_run.lateness import lateness, penalty_for
from autograder.records import Grade, State, Timing
from autograder.store.journal import Journal, Record

_DAY = timedelta(days=1)


def spend(n_left: int, timing: Timing, policy: Policy) -> int:
    """Return how many of the late days that are left go into one set.

    Args:
        policy: of the set; decides what a day would cost.
    """
    late = lateness(timing, policy)
    most = min(n_left, math.ceil(late / _DAY))
    costs = [penalty_for(late - n * _DAY, policy, 100.0) for n in range(most + 1)]
    return costs.index(min(costs))


@dataclass(frozen=True)
class _DueSet:
    """One assignment of a student: when it is due, and how late it came."""

    due: datetime
    assignment: str
    timing: Timing
    policy: Policy


class LateDays:
    """The late days of everybody in a course.

    Args:
        released: the set that is being graded.
        out: folder with the records of all sets.
    """

    def __init__(self, released: ReleasedSet, out: Path) -> None:
        self._name = released.name
        self._sets = {n: ReleasedSet(released.course, n) for n in released.course.sets()}
        self._sets[released.name] = released
        self._journals = {name: Journal(out, name) for name in self._sets}
        self._mine: dict[str, Grade] = {}

    def apply(self, grade: Grade) -> Grade:
        """Return a grade whose timing says how many late days it used, and what it still loses."""
        released, timing = self._sets[grade.problem_set], grade.timing
        policy, mine = released.policy, self._due_set(grade)
        n, left = 0, policy.late_days
        for other in sorted(self._others(grade) if left else (), key=_order):
            if mine is None or _order(other) < _order(mine):
                left -= spend(left, other.timing, other.policy)
        if timing.is_late:
            n = spend(left, timing, policy) if mine is not None else 0
            late = lateness(timing, policy) - n * _DAY
            timing = replace(timing, penalty=penalty_for(late, policy, released.outline.points))
        left_after = left - n if policy.late_days and mine is not None else None
        return replace(grade, timing=replace(timing, late_days=n, late_days_left=left_after))

    def changed_by(
        self, grade: Grade, earlier: Grade | None
    ) -> Iterator[tuple[Journal, Record, Record]]:
        """Yield the records of other sets that have to change now that this set has this grade.

        Each comes with the record that should stand in its place.

        Args:
            earlier: what is recorded of this set.
        """
        self._mine[grade.student] = grade
        now, before = grade.timing, earlier.timing if earlier is not None else None
        if before is None and not now.late_days:
            return
        if before is not None and (before.late_days, before.late_days_left, before.due) == (
            *(now.late_days, now.late_days_left, now.due),
        ):
            return
        for name, journal in self._journals.items():
            record = journal.read(grade.student) if self._is_other(name) else None
            if record is None:
                continue
            new = self.apply(record.grade)
            if new != record.grade:
                penalties = tuple(sorted({*record.penalties, new.timing.penalty} - {0.0}))
                yield journal, record, replace(record, grade=new, penalties=penalties)

    def _is_other(self, name: str) -> bool:
        return assignment_and_notebook(name)[0] != assignment_and_notebook(self._name)[0]

    def _others(self, grade: Grade) -> Iterator[_DueSet]:
        """Yield the student's other assignments; of one with several notebooks, the first."""
        seen = {assignment_and_notebook(grade.problem_set)[0]}
        for name, journal in self._journals.items():
            assignment, _ = assignment_and_notebook(name)
            if assignment in seen:
                continue
            of_this = self._mine.get(grade.student) if name == self._name else None
            record = None if of_this else journal.read(grade.student)
            other = of_this or (record.grade if record is not None else None)
            due_set = self._due_set(other) if other is not None else None
            if due_set is not None:
                seen.add(assignment)
                yield due_set

    def _due_set(self, grade: Grade) -> _DueSet | None:
        """Return what counts of a grade; None if it cannot use late days."""
        timing = grade.timing
        if not timing.due or grade.state is State.REFUSED:  # it is as if nothing came
            return None
        due = datetime.fromisoformat(timing.due).astimezone(UTC)
        assignment, _ = assignment_and_notebook(grade.problem_set)
        return _DueSet(due, assignment, timing, self._sets[grade.problem_set].policy)


def _order(one: _DueSet) -> tuple[datetime, str]:
    return one.due, one.assignment
