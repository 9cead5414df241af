"""Record grades, and note whose have changed, in this set and, by late days, in others."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from autograder.authoring.release import ReleasedSet
from autograder.class_run.containment import describe, is_everybodys
from autograder.class_run.late_days import LateDays
from autograder.class_run.plan import Received
from autograder.grading.grader import faulty
from autograder.records import Grade
from autograder.store.grade_changes import Change, change_between
from autograder.store.journal import Journal, Record


class Ledger:
    """Writes grades into the journal and notes which of them have changed.

    Attributes:
        recounted: names of other sets, with the changes there because late days were recounted.
    """

    def __init__(self, released: ReleasedSet, journal: Journal, out: Path) -> None:
        self._journal = journal
        self._late_days = LateDays(released, out)
        self.changes: list[Change] = []
        self.recounted: dict[str, list[Change]] = {}

    def enter(self, arrival: Received, grade: Grade) -> Grade:
        """Record a grade, with the times and the penalty that hold today.

        Where that fails, the next run tries again.
        """
        try:
            return self._record(arrival, grade)
        except Exception as error:
            if is_everybodys(error):
                raise
            return faulty(arrival.task, f"it was not recorded: {describe(error)}")

    def _record(self, arrival: Received, grade: Grade) -> Grade:
        if arrival.held:
            return grade
        digest, attempts = arrival.task.submission.sha256, arrival.attempts
        grade = replace(grade, timing=arrival.timing, attempts=attempts, sha256=digest)
        grade = self._late_days.apply(grade)
        self._recount(grade, arrival.earlier)
        before = arrival.earlier.penalties if arrival.earlier is not None else ()
        penalties = tuple(sorted({*before, grade.timing.penalty} - {0.0}))
        key = arrival.task.key
        record = Record(key, grade, arrival.made_from, penalties, arrival.origin)
        if record != arrival.earlier:
            if arrival.earlier is not None:
                self.changes += self._write(self._journal, arrival.earlier, record)
            else:
                self._journal.write(record)
        return grade

    def _recount(self, grade: Grade, earlier: Record | None) -> None:
        """Bring the student's other sets up to date before this grade is recorded.

        So a run that is killed in between does it again. That their pages and the gradebook do not
        know yet is noted on the disk.
        """
        known = earlier.grade if earlier is not None else None
        for journal, old, new in self._late_days.changed_by(grade, known):
            journal.mark_outdated()
            changes = self._write(journal, old, new)
            self.recounted.setdefault(journal.problem_set, []).extend(changes)

    def _write(self, journal: Journal, old: Record, new: Record) -> list[Change]:
        change = change_between(old, new)
        if change is not None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            journal.note({"at": now, **asdict(change)})
        journal.write(new)
        return [] if change is None else [change]
