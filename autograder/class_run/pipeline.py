"""Take a class through the stages: receive, grade, record, book, explain.

    folder ─► received/ ─► Grader (repair, sandbox ═╡wall╞═, judge) ─► records/ ─► gradebook
                                                                          ├─► feedback/
                                                                          └─► autograded/

One submission after another goes all the way, so a class need not fit in memory. Everything up to
`records/` is done once for each; everything after it is made again in every run, for those that
were recorded earlier from their received copies. Times and penalties are no part of what is done
once: they follow the course's policy in every run. So a run that is killed at any moment loses
nothing: the next one skips students whose record bears the same key, and writes the outputs of all.
"""

import contextlib
import functools
import time
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Container,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from autograder.authoring.outline import Outline
from autograder.authoring.release import ReleasedSet
from autograder.class_run.cluster import grade_on_cluster
from autograder.class_run.containment import describe, with_fault
from autograder.class_run.late_days import LateDays
from autograder.class_run.ledger import Ledger
from autograder.class_run.plan import (
    Received,
    receive,
    said_before,
    with_given_times,
    with_points_of_nbgrader,
)
from autograder.class_run.settings import Settings
from autograder.class_run.student_pages import StudentPages
from autograder.class_run.workers import Job, grade_all
from autograder.files import as_utf8, write_atomically
from autograder.grading.grader import Graded
from autograder.intake.collection import Delivery, collect
from autograder.records import Grade, GraderError, Origin, State
from autograder.reports import instructor_pages
from autograder.reports.instructor_pages import HandGrades
from autograder.store.class_folder import claim_class
from autograder.store.grade_changes import Change
from autograder.store.gradebook import Gradebook
from autograder.store.journal import Journal

_MOST_NAMES = 20


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
    found: Callable[[Delivery], None] = lambda delivery: None
    warned: Callable[[Sequence[str]], None] = lambda lines: None


def grade_class(
    released: ReleasedSet,
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
    settings = settings.hiding(submissions)
    if released.course.has_checks:  # nbgrader has written into another course's folders
        claim_class(settings.out)
    journal = Journal(settings.out, released.name)
    with _report_errors(settings.out), journal.only_writer():
        delivery = collect(submissions, released.name, settings.layout, released.policy.zones)
        delivery = with_given_times(delivery, released, settings)
        watcher.found(delivery)
        received = receive(released, delivery, journal, settings, held)
        watcher.warned(tuple(said_before(released, received)))
        watcher.received(len(received))
        theirs = with_points_of_nbgrader(released, received, settings)
        if theirs and not settings.replace:
            raise GraderError(
                f"nbgrader itself has graded {released.name} for {_listed(list(theirs))}; with "
                "--replace this run's points take the place of its own (what people gave stays), "
                "with --db they go into another gradebook"
            )
        ledger = Ledger(journal, LateDays(released, settings.out))
        graded = _grade(released, received, settings, ledger, watcher)
        with contextlib.closing(graded):  # an error in what is written ends the processes, too
            outputs = _write_outputs(
                released, graded, settings, _origins(received), _penalties(received)
            )
            recounted = tuple(_write_recounted(released, settings, ledger))
    return ClassResult(
        problem_set=released.name,
        outline=released.outline,
        grades=tuple(outputs.grades),
        by_hand=outputs.by_hand,
        reused=sum(arrival.takes_over(settings.resume) for arrival in received),
        changes=tuple(sorted(ledger.changes, key=lambda change: change.student)),
        seconds=time.monotonic() - started,
        page=outputs.page,
        notices=(
            *_notices(released, received),
            *_missing(outputs, received),
            *recounted,
            *_replaced(theirs, ledger.grades),
        ),
    )


def _grade(
    released: ReleasedSet,
    received: Sequence[Received],
    settings: Settings,
    ledger: Ledger,
    watcher: Watcher,
) -> Generator[Graded, None, None]:
    """Record every grade, and yield those that are new as soon as they are there."""
    taken_over, tasks = [], []
    for arrival in received:
        if arrival.takes_over(settings.resume):
            taken_over.append(ledger.enter(arrival, arrival.earlier_grade))
            watcher.graded(taken_over[-1], True)
        else:
            tasks.append(arrival.task)
    by_key = {arrival.task.key: arrival for arrival in received}
    job = Job(released, settings.confinement, settings.out)
    if settings.scheduler:
        answers = grade_on_cluster(job, tasks, settings.scheduler)
    else:
        answers = grade_all(job, tasks, settings.jobs)
    for task, answer in answers:
        grade = ledger.enter(by_key[task.key], answer.grade)
        watcher.graded(grade, False)
        yield replace(answer, grade=grade)
    yield from map(Graded, taken_over)


@contextlib.contextmanager
def _report_errors(out: Path) -> Iterator[None]:
    """Turn what the disk refuses into something that an instructor can fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise GraderError(
            f"{error.filename or out} cannot be read or written: {reason}. What is recorded stays; "
            "the next run goes on from there"
        ) from error


def write_pages(sets: Sequence[ReleasedSet], settings: Settings) -> Path:
    """Write all outputs of some sets again, and a page that leads to them; return that page.

    Made from records and received copies alone: nothing is run, for example after hand grading.

    Raises:
        GraderError: if nothing was graded there.
    """
    classes = []
    for released in sets:
        journal = Journal(settings.out, released.name)
        with journal.only_writer():
            records = [one for one in map(journal.read, journal.students()) if one is not None]
            if records:
                recorded = [Graded(record.grade) for record in records]
                origins = {record.grade.student: record.origin for record in records}
                classes.append(_write_outputs(released, recorded, settings, origins))
    if not classes:
        raise GraderError(f"nothing is recorded in {settings.out}: grade a class first")
    page = settings.out / "dashboard" / "index.html"
    overview = instructor_pages.overview_page(
        [(outputs.outline, outputs.grades, outputs.by_hand) for outputs in classes]
    )
    write_atomically(page, as_utf8(overview))
    return page if len(sets) > 1 else classes[0].page


@dataclass(frozen=True)
class _Outputs:
    """What was written about a class, and what it says.

    Attributes:
        by_hand: for each student, what people gave for each cell.
        page: the instructor's page.
        known: everybody in the gradebook, whatever they handed in.
    """

    outline: Outline
    grades: Sequence[Grade]
    by_hand: HandGrades
    page: Path
    known: frozenset[str]


def _penalties(received: Iterable[Received]) -> dict[str, Collection[float]]:
    """Return what earlier runs took off for each student who was late."""
    earlier = [arrival.earlier for arrival in received if arrival.earlier is not None]
    return {record.grade.student: record.penalties for record in earlier}


def _origins(received: Iterable[Received]) -> dict[str, Origin]:
    return {arrival.task.submission.student: arrival.origin for arrival in received}


def _write_outputs(
    released: ReleasedSet,
    graded: Iterable[Graded],
    settings: Settings,
    origins: Mapping[str, Origin],
    earlier_penalties: Mapping[str, Collection[float]] = MappingProxyType({}),
) -> _Outputs:
    """Write gradebook, formgrader's notebooks, feedback and the instructor's pages of a set."""
    grades: list[Grade] = []
    with Gradebook(settings.url) as book:
        book.register(released.name, released.notebooks.recorded, released.policy.due)
        given = book.hand_grades(released.name)
        ask_again = functools.partial(book.ask_again, released.name)
        pages = StudentPages(released, settings.out, given, origins, ask_again)

        def written() -> Iterator[tuple[Grade, frozenset[str]]]:
            for answer in graded:
                grade, blank = pages.write_or_say(answer)
                grades.append(grade)
                yield grade, blank

        keeps_times = not released.course.has_checks  # nbgrader may have written them
        lost = book.record(released.name, written(), keeps_times, earlier_penalties)
        by_hand, known = book.hand_grades(released.name), book.students()
    pages.raise_if_all_failed()
    grades = [
        with_fault(grade, f"it is not in the gradebook: {lost[grade.student]}")
        if grade.student in lost
        else grade
        for grade in sorted(grades, key=lambda grade: grade.student)
    ]
    # Apart from the students' pages, whose folder may be published as it is.
    page = settings.out / "dashboard" / released.name / "index.html"
    changes = Journal(settings.out, released.name).changes()
    dashboard, grades = _class_page(released.outline, grades, by_hand, len(changes))
    write_atomically(page, as_utf8(dashboard))
    history = instructor_pages.changes_page(released.outline, changes)
    write_atomically(page.with_name("changes.html"), as_utf8(history))
    return _Outputs(released.outline, grades, by_hand, page, known)


def _class_page(
    outline: Outline, grades: Sequence[Grade], by_hand: HandGrades, n_changes: int
) -> tuple[str, list[Grade]]:
    """Return the instructor's page and its grades; one that would break it says only that."""
    try:
        return instructor_pages.class_page(outline, grades, by_hand, n_changes), list(grades)
    except Exception:
        shown = [_shown_alone(outline, grade, by_hand) for grade in grades]
    return instructor_pages.class_page(outline, shown, by_hand, n_changes), shown


def _shown_alone(outline: Outline, grade: Grade, by_hand: HandGrades) -> Grade:
    try:
        instructor_pages.class_page(outline, [grade], by_hand, 0)
    except Exception as error:
        what = f"the class's page cannot show this grade: {describe(error)}"
        bare = Grade(grade.student, grade.problem_set, State.GRADER_FAULT, grade.sha256, grade.seed)
        return with_fault(bare, what)
    return grade


def _write_recounted(released: ReleasedSet, settings: Settings, ledger: Ledger) -> Iterator[str]:
    """Write the outputs of sets whose late days were counted anew; say who has other points there.

    That may have been in an earlier run, which was killed before it came to this.
    """
    for name in released.course.sets():
        journal = Journal(settings.out, name)
        if name == released.name or not journal.is_outdated():
            continue
        records = [one for one in map(journal.read, journal.students()) if one is not None]
        _write_outputs(
            ReleasedSet(released.course, name),
            [Graded(record.grade) for record in records],
            settings,
            {record.grade.student: record.origin for record in records},
            {record.grade.student: record.penalties for record in records},
        )
        journal.mark_outdated(False)
        changes = ledger.recounted.get(name, [])
        shown = [f"{one.student} {one.before:g} → {one.after:g}" for one in changes]
        if shown:
            yield f"late days were counted anew, so {name} has other points: {_listed(shown)}"


def _notices(released: ReleasedSet, received: Sequence[Received]) -> Iterator[str]:
    """What is to be said about tests and due dates, once for the whole class."""
    here = {arrival.task.submission.student for arrival in received}
    name = released.name
    for cell, why in released.left_to_people.items():
        yield f"{cell} is left for people to grade: {why}"
    for student in released.policy.extensions:
        if student not in here:
            yield f"an extension names {student!r}, but nobody of that name has handed in {name}"
    unknown = sum(bool(arrival.timing.due and not arrival.timing.source) for arrival in received)
    if unknown:
        yield (
            f"{name} has a due date, but nobody knows when {unknown} of {len(received)} were "
            "handed in: of these no points were taken off"
        )


def _missing(outputs: _Outputs, received: Sequence[Received]) -> Iterator[str]:
    """Name who is in the gradebook and not in this delivery."""
    missing = sorted(outputs.known - {arrival.task.submission.student for arrival in received})
    if missing:
        yield (
            f"{len(missing)} in the gradebook handed in nothing here; what was recorded of them "
            f"stays: {_listed(missing)}"
        )


def _replaced(theirs: Mapping[str, float], grades: Iterable[Grade]) -> Iterator[str]:
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
            + (f": {_listed(changed)}" if changed else "")
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
