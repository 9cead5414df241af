"""Take a class through the stages: receive, grade, record, book, explain.

    folder ─► received/ ─► Grader (repair, sandbox ═╡wall╞═, judge) ─► records/ ─► gradebook
                                                                          └─► feedback/, autograded/

Everything up to `records/` is done once for each submission; everything after it is made again from
the records and the received copies. Times and penalties are no part of what is done once: they
follow the course's policy in every run. So a run that is killed at any moment loses nothing: the
next one skips students whose record bears the same key, and writes the outputs of all.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from autograder.authoring import release
from autograder.authoring.checks import ProblemSet
from autograder.authoring.course import Course
from autograder.authoring.notebooks import as_text
from autograder.class_run.cluster import grade_on_cluster
from autograder.class_run.late_policy import read_policy
from autograder.class_run.plan import Received, Settings, receive
from autograder.class_run.workers import Job, grade_all
from autograder.files import write_atomically, write_if_new
from autograder.grading.grader import Task, targets
from autograder.intake.collection import Delivery, collect
from autograder.intake.repair import RepairedNotebook, repair
from autograder.records import Grade, GraderError, HandGrade, State, SubmissionRefused
from autograder.reports import instructor_pages, student_feedback
from autograder.store.grade_changes import Change, change_between
from autograder.store.gradebook import Gradebook, formgrader_notebook
from autograder.store.journal import Journal, Record

__all__ = ["Settings", "grade_class", "write_outputs", "write_pages"]


@dataclass(frozen=True)
class ClassResult:
    """What became of a class: one grade for each submission received.

    Attributes:
        reused: how many grades were taken over from an earlier run.
        changes: whose grade differs from the one recorded earlier, and why.
        notices: what an instructor should know about the class as a whole.
        page: the instructor's page, which leads to each student's.
    """

    problem_set: str
    grades: tuple[Grade, ...]
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
    found: Callable[[Delivery], None] = lambda delivery: None


def grade_class(
    course: Course,
    name: str,
    submissions: Path,
    settings: Settings,
    watcher: Watcher | None = None,
    held: Container[Path] = (),
) -> ClassResult:
    """Grade every submission in a folder and write all outputs.

    Args:
        held: files that are not to be read yet, as they are still being copied; for their students
            an earlier grade stands.

    Raises:
        GraderError: if nothing can be graded at all, or the outputs cannot be written; says why.
            What was recorded stays, and the next run goes on from there.
    """
    started = time.monotonic()
    watcher = watcher or Watcher()
    journal = Journal(settings.out, name)
    with _said_plainly(settings.out), journal.only_writer():
        delivery = collect(submissions, name, settings.layout)
        watcher.found(delivery)
        received = receive(course, name, delivery, journal, settings, held)
        watcher.received(len(received))
        ledger = _Ledger(journal)
        tasks: list[Task] = []
        for one in received:
            if one.takes_over(settings.resume):
                watcher.graded(ledger.enter(one, one.earlier_grade), True)
            else:
                tasks.append(one.task)
        by_key = {one.task.key: one for one in received}
        job = Job(course, name, settings.confinement, settings.out)
        if settings.scheduler:
            graded = grade_on_cluster(job, tasks, settings.scheduler)
        else:
            graded = grade_all(job, tasks, settings.jobs)
        for task, grade in graded:
            watcher.graded(ledger.enter(by_key[task.key], grade), False)
        grades = tuple(sorted(ledger.grades, key=lambda grade: grade.student))
        page = write_outputs(course, name, grades, settings).page
    return ClassResult(
        problem_set=name,
        grades=grades,
        reused=len(received) - len(tasks),
        changes=tuple(sorted(ledger.changes, key=lambda change: change.student)),
        seconds=time.monotonic() - started,
        page=page,
        notices=tuple(_notices(course, name, received)),
    )


@contextlib.contextmanager
def _said_plainly(out: Path) -> Iterator[None]:
    """Turn what the disk refuses into something that an instructor can fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(
            f"{error.filename or out} cannot be read or written: {reason}. What is recorded stays; "
            "the next run goes on from there"
        ) from error


def write_pages(course: Course, names: Sequence[str], settings: Settings) -> Path:
    """Write all outputs of some sets again, and a page that leads to them; return that page.

    Made from records and received copies alone: nothing is run, for example after hand grading.

    Raises:
        GraderError: if nothing was graded there.
    """
    classes = []
    for name in names:
        journal = Journal(settings.out, name)
        with journal.only_writer():
            records = [journal.read(student) for student in journal.students()]
            grades = [record.grade for record in records if record is not None]
            if grades:
                classes.append(write_outputs(course, name, grades, settings))
    if not classes:
        raise GraderError(f"nothing is recorded in {settings.out}: grade a class first")
    page = settings.out / "dashboard" / "index.html"
    overview = instructor_pages.overview_page(
        [(one.layout, one.grades, one.by_hand) for one in classes]
    )
    write_atomically(page, overview.encode())
    return page if len(names) > 1 else classes[0].page


@dataclass(frozen=True)
class Outputs:
    """What was written about a class, and what it says.

    Attributes:
        by_hand: for each student, what people gave for each cell.
        page: the instructor's page.
    """

    layout: student_feedback.Layout
    grades: Sequence[Grade]
    by_hand: Mapping[str, Mapping[str, HandGrade]]
    page: Path


def write_outputs(
    course: Course, name: str, grades: Sequence[Grade], settings: Settings
) -> Outputs:
    """Write gradebook, formgrader's notebooks, feedback and the instructor's pages of a set."""
    problem_set, built = course.problem_set(name), release.build(course.source(name))
    journal = Journal(settings.out, name)
    layout = student_feedback.Layout.of(problem_set, built.student)
    with Gradebook(settings.url) as book:
        book.register(name, built.recorded, read_policy(course, name).due)
        given, pages = book.hand_grades(name), _Pages(settings.out, problem_set, built)
        book.record(name, ((grade, pages.write(grade, given)) for grade in grades))
        by_hand = book.hand_grades(name)
    # Apart from the students' pages, whose folder may be published as it is.
    page, changes = settings.out / "dashboard" / name / "index.html", journal.changes()
    write_atomically(
        page, instructor_pages.class_page(layout, grades, by_hand, len(changes)).encode()
    )
    history = instructor_pages.changes_page(layout, changes)
    write_atomically(page.with_name("changes.html"), history.encode())
    return Outputs(layout, grades, by_hand, page)


class _Pages:
    """Writes what is made for each student: one at a time, so a class need not fit in memory."""

    def __init__(self, out: Path, problem_set: ProblemSet, built: release.Release) -> None:
        self._out = out
        self._name = problem_set.name
        self._journal = Journal(out, problem_set.name)
        self._layout = student_feedback.Layout.of(problem_set, built.student)
        self._released = built.student
        self._targets = targets(problem_set)

    def write(self, grade: Grade, by_hand: Mapping[str, Mapping[str, HandGrade]]) -> frozenset[str]:
        """Write feedback and formgrader's notebook; return which items were left blank."""
        repaired = self._repaired(grade)
        # nbgrader's layout, so that its release_feedback and formgrader find the files.
        place = Path(grade.student, self._name)
        given = by_hand.get(grade.student, {})
        html = student_feedback.student_page(self._layout, grade, repaired, given)
        write_if_new(self._out / "feedback" / place / f"{self._name}.html", html.encode())
        if repaired is None:
            return frozenset()
        notebook = as_text(formgrader_notebook(repaired.notebook, grade))
        write_if_new(self._out / "autograded" / place / f"{self._name}.ipynb", notebook.encode())
        return repaired.blank

    def _repaired(self, grade: Grade) -> RepairedNotebook | None:
        """Repair the received copy once more; None where there never was a readable notebook."""
        if not grade.sha256:
            return None
        notebook = self._journal.submission(grade.student, grade.sha256).notebook
        try:
            return repair(notebook, self._released, self._targets)
        except SubmissionRefused:
            return None


# ------------------------------------------------------------------ what is recorded
class _Ledger:
    """Writes grades into the journal and notes which of them have changed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.grades: list[Grade] = []
        self.changes: list[Change] = []

    def enter(self, one: Received, grade: Grade) -> Grade:
        """Record a grade, with the times and the penalty that hold today."""
        if one.held:
            self.grades.append(grade)
            return grade
        grade = replace(grade, timing=one.timing)
        record = Record(one.task.key, grade, one.made_from)
        if record != one.earlier:
            change = None if one.earlier is None else change_between(one.earlier, record)
            if change is not None:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                self._journal.note({"at": now, **asdict(change)})
                self.changes.append(change)
            self._journal.write(record)
        self.grades.append(grade)
        return grade


def _notices(course: Course, name: str, received: Sequence[Received]) -> Iterator[str]:
    """What is to be said about due dates, once for the whole class."""
    here = {one.task.submission.student for one in received}
    for student in read_policy(course, name).extensions:
        if student not in here:
            yield f"an extension names {student!r}, but nobody of that name has handed in {name}"
    unknown = sum(bool(one.timing.due and not one.timing.source) for one in received)
    if unknown:
        yield (
            f"{name} has a due date, but nobody knows when {unknown} of {len(received)} were "
            "handed in: of these no points were taken"
        )
