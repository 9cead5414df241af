"""What is written for each student: feedback, formgrader's notebook, what nbgrader reads beside."""

import copy
import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from nbformat import NotebookNode

from autograder.authoring.notebooks import assignment_and_notebook
from autograder.authoring.release import ReleasedSet
from autograder.class_run.containment import describe, is_everybodys, with_fault
from autograder.files import write_if_new
from autograder.grading.grader import Graded
from autograder.intake.layouts import Layout
from autograder.intake.repair import RepairedNotebook, repair
from autograder.records import Grade, HandGrade, Origin, State
from autograder.reports import student_feedback
from autograder.reports.html import write_page
from autograder.reports.instructor_pages import HandGrades
from autograder.reports.limited import shown_now
from autograder.store.formgrader_notebook import formgrader_notebook, write_shown
from autograder.store.hand_given import Given, HandGiven, answers, answers_seen, digests
from autograder.store.journal import Journal


class StudentPages:
    """Writes what is made for each student.

    Args:
        by_hand: for each student, what people gave for each cell.
        origins: for each student, where the submission came from.
        ask_again: is told a student and the cells for which people have given something, where the
            answer is another now; before anything shows that answer.
    """

    def __init__(
        self,
        released: ReleasedSet,
        out: Path,
        by_hand: HandGrades,
        origins: Mapping[str, Origin],
        ask_again: Callable[[str, Collection[str]], None],
    ) -> None:
        self._released = released
        self._out = out
        self._by_hand = by_hand
        self._origins = origins
        self._ask_again = ask_again
        self._given = HandGiven(out, released.name)
        self._salt = Journal(out, released.name).salt()
        self._n_written, self._failure = 0, OSError()
        self.kept: list[Path | None] = []  # as they were, in which somebody had written

    def write_or_say(self, graded: Graded) -> tuple[Grade, frozenset[str]]:
        """Write what `write` does; where that fails, return a grade that says so."""
        try:
            blank = self.write(graded)
        except Exception as error:
            if is_everybodys(error):
                raise
            if isinstance(error, OSError):
                self._failure = error
            what = f"the page for the student could not be written: {describe(error)}"
            return with_fault(graded.grade, what), frozenset()
        self._n_written += 1
        return graded.grade, blank

    def raise_if_all_failed(self) -> None:
        """Raise what the disk has said, if it has let nobody's pages be written.

        Raises:
            OSError: then.
        """
        if self._failure.errno and not self._n_written:
            raise self._failure

    def write(self, graded: Graded) -> frozenset[str]:
        """Write feedback and formgrader's notebook; return which items were left blank."""
        grade = graded.grade
        repaired = graded.repaired or as_graded(self._released, grade, self._out)
        course = self._released.course
        # nbgrader's layout, so that its release_feedback and formgrader find the files.
        assignment, name = assignment_and_notebook(self._released.name)
        place = Path(grade.student, assignment)
        autograded = course.output("autograded", self._out) / place
        given = self._by_hand.get(grade.student, {})
        shown = None
        if repaired is not None:
            shown = formgrader_notebook(copy.deepcopy(repaired.notebook), grade)
            given = self._looked_at(grade.student, given, autograded / f"{name}.ipynb", shown)
        outline, policy = self._released.outline, self._released.policy
        level = shown_now(policy, grade, datetime.now(UTC))
        html = student_feedback.student_page(outline, grade, repaired, given, shown=level)
        folder = course.output("feedback", self._out) / place
        self.kept.append(write_page(folder / f"{name}.html", html))
        self._write_beside(folder, grade)
        if repaired is None or shown is None:
            return frozenset()
        self.kept.append(write_shown(autograded / f"{name}.ipynb", shown))
        self._write_beside(autograded, grade)
        return repaired.blank

    def _looked_at(
        self, student: str, given: Mapping[str, HandGrade], earlier: Path, shown: NotebookNode
    ) -> Mapping[str, HandGrade]:
        """Note for which answers people gave something, and ask again where those are others now.

        In this order: whatever kills the run between two steps, the next one finds the same.
        """
        people = [cell for cell, one in given.items() if one.is_of_person]
        if not people:
            return given
        about = self._released.outline.about
        now = digests(people, answers(shown), about)
        seen = (
            digests(people, seen_answers, about) if (seen_answers := answers_seen(earlier)) else now
        )
        again = {cell for cell in people if seen[cell] != now[cell]}
        with self._given.only_writer():
            noted = self._given.read(student)
            known = {}
            for cell in people:
                before = noted.get(cell) or Given(None, 0.0, "", seen[cell], seen[cell], seen[cell])
                known[cell] = replace(before.now(given[cell], seen[cell]), answer=now[cell])
                if known[cell].points_for != now[cell] and not given[cell].waiting:
                    again.add(cell)  # it was given while an earlier run was at work
            if again:
                self._ask_again(student, again)
            self._given.write(student, known)
        given = {c: replace(one, waiting=one.waiting or c in again) for c, one in given.items()}
        return self._given.marked_of(student, given)

    def _write_beside(self, folder: Path, grade: Grade) -> None:
        """Write what nbgrader's `release_feedback` reads beside a page that came by its exchange.

        It stops at the first student of whom one of these is missing or cannot be read, so they
        are never copies of what the student's account wrote, and whoever handed in without a
        secret has one that nobody knows.
        """
        origin = self._origins.get(grade.student, Origin())
        if origin.layout not in (Layout.NBGRADER, Layout.EXCHANGE):
            return
        own = f"{self._salt}+{grade.problem_set}+{grade.student}"
        secret = origin.secret or hashlib.sha256(own.encode()).hexdigest()
        write_if_new(folder / "submission_secret.txt", secret.encode())
        written = ""
        if grade.timing.submitted:
            moment = datetime.fromisoformat(grade.timing.submitted).astimezone(UTC)
            written = f"{moment.replace(tzinfo=None).isoformat(' ', 'microseconds')} UTC"
        write_if_new(folder / "timestamp.txt", written.encode())


def as_graded(released: ReleasedSet, grade: Grade, out: Path) -> RepairedNotebook | None:
    """Return the notebook that was graded; None where there never was a readable one."""
    if not grade.sha256 or grade.state is State.REFUSED:
        return None
    kept = Journal(out, released.name).submission(grade.student, grade.sha256)
    return repair(kept.notebook, released)
