"""Write what a graded class is for: gradebook, formgrader's notebooks, feedback, dashboard."""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from autograder.authoring.outline import Outline
from autograder.authoring.release import ReleasedSet
from autograder.class_run.containment import describe, with_fault
from autograder.class_run.ledger import Ledger
from autograder.class_run.plan import listed
from autograder.class_run.result import ClassResult
from autograder.class_run.settings import Settings
from autograder.class_run.student_pages import StudentPages
from autograder.grading.grader import Graded
from autograder.records import Grade, GraderError, Origin, State
from autograder.reports import instructor_pages
from autograder.reports.html import said_of_kept, write_page
from autograder.reports.instructor_pages import HandGrades
from autograder.store.gradebook import Gradebook
from autograder.store.hand_given import HandGiven
from autograder.store.journal import Journal
from autograder.store.sections import read_sections


def write_pages(sets: Sequence[ReleasedSet], settings: Settings) -> tuple[Path, list[str]]:
    """Write all outputs of some sets again, and the page of the course, which leads to all sets.

    Made from records and received copies alone: nothing is run, for example after hand grading.

    Returns:
        That page, or of a single set its own, and lines on sets that cannot be read and on what
        was kept because somebody had written in it.

    Raises:
        GraderError: if nothing was graded there.
    """
    classes = []
    for released in sets:
        journal = Journal(settings.out, released.name)
        with journal.only_writer():
            records = journal.records()
            if records:
                recorded = [Graded(record.grade) for record in records]
                origins = {record.grade.student: record.origin for record in records}
                classes.append(write_outputs(released, recorded, settings, origins))
    if not classes:
        raise GraderError(f"nothing is recorded in {settings.out}: grade a class first")
    page = settings.out / "dashboard" / "index.html"
    shown = {one.outline.name: (one.outline, one.grades, one.by_hand) for one in classes}
    left_out = []
    for name in sets[0].course.sets():  # the page of the course has the other sets, too
        records = [] if name in shown else Journal(settings.out, name).records()
        try:
            outline = ReleasedSet(sets[0].course, name).outline if records else None
        except Exception as error:  # a set that is just being changed; these sets have their pages
            left_out.append(f"{page} is without {name}, which cannot be read: {describe(error)}")
            continue
        if outline is not None:
            grades = [one.grade.for_tables() for one in records]
            with Gradebook(settings.url) as book:
                given = book.hand_grades(name, outline.belongs)
            shown[name] = outline, grades, HandGiven(settings.out, name).marked(given)
    in_order = [shown[name] for name in sets[0].course.sets() if name in shown]
    overview = instructor_pages.overview_page(in_order)
    kept = [path for outputs in classes for path in outputs.kept]
    kept_overview = write_page(page, overview)
    said = [*left_out, *said_of_kept([*kept, kept_overview])]
    return page if len(sets) > 1 else classes[0].page, said


def write_assignment_page(
    assignment: str, results: Sequence[ClassResult], settings: Settings
) -> tuple[Path, list[str]]:
    """Write a page on several notebooks of one assignment, with everybody's total.

    Returns:
        The page, and the line on the one that was kept because somebody had written in it.
    """
    page = settings.out / "dashboard" / f"{assignment}.html"
    classes = [(result.outline, result.grades, result.by_hand) for result in results]
    kept = write_page(page, instructor_pages.overview_page(classes, assignment))
    return page, said_of_kept([kept])


@dataclass(frozen=True)
class Outputs:
    """What was written about a class, and what it says.

    Attributes:
        by_hand: for each student, what people gave for each cell.
        page: the instructor's page.
        known: everybody in the gradebook, whatever they handed in.
        kept: pages and notebooks as they were, in which somebody had written since they were made.
    """

    outline: Outline
    grades: Sequence[Grade]
    by_hand: HandGrades
    page: Path
    known: frozenset[str]
    kept: tuple[Path, ...] = ()


def write_outputs(
    released: ReleasedSet,
    graded: Iterable[Graded],
    settings: Settings,
    origins: Mapping[str, Origin],
    earlier_penalties: Mapping[str, Collection[float]] = MappingProxyType({}),
) -> Outputs:
    """Write gradebook, formgrader's notebooks, feedback and the instructor's pages of a set."""
    grades: list[Grade] = []
    with Gradebook(settings.url) as book:
        book.register(released.name, released.notebooks.recorded, released.policy.due)
        belongs = released.outline.belongs
        given = book.hand_grades(released.name, belongs)
        ask_again = functools.partial(book.ask_again, released.name)
        pages = StudentPages(released, settings.out, given, origins, ask_again)

        def written() -> Iterator[tuple[Grade, frozenset[str]]]:
            for answer in graded:
                grade, blank = pages.write_or_say(answer)
                grades.append(grade.for_tables())
                yield grade, blank

        keeps_times = not released.course.has_checks  # nbgrader may have written them
        lost = book.record(released.name, written(), keeps_times, earlier_penalties, belongs)
        by_hand, known = book.hand_grades(released.name, belongs), book.students()
    by_hand = HandGiven(settings.out, released.name).marked(by_hand)
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
    sections, notes = _sections(settings.out)
    about = (len(changes), sections, notes)
    dashboard, grades = _class_page(released.outline, grades, by_hand, about)
    kept = [*pages.kept, write_page(page, dashboard)]
    history = instructor_pages.changes_page(released.outline, changes)
    kept.append(write_page(page.with_name("changes.html"), history))
    return Outputs(released.outline, grades, by_hand, page, known, tuple(filter(None, kept)))


def _sections(out: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the section of each student, and what is wrong with the file that says it."""
    try:
        members = read_sections(out) or ()
    except GraderError as error:
        return {}, (str(error),)
    return {one.student: one.section for one in members}, ()


def _class_page(
    outline: Outline,
    grades: Sequence[Grade],
    by_hand: HandGrades,
    about: tuple[int, Mapping[str, str], Sequence[str]],
) -> tuple[str, list[Grade]]:
    """Return the instructor's page and its grades; one that would break it says only that.

    Args:
        about: what `class_page` takes about the class.
    """
    try:
        return instructor_pages.class_page(outline, grades, by_hand, *about), list(grades)
    except Exception:
        shown = [_shown_alone(outline, grade, by_hand) for grade in grades]
    return instructor_pages.class_page(outline, shown, by_hand, *about), shown


def _shown_alone(outline: Outline, grade: Grade, by_hand: HandGrades) -> Grade:
    try:
        instructor_pages.class_page(outline, [grade], by_hand, 0)
    except Exception as error:
        what = f"the class's page cannot show this grade: {describe(error)}"
        bare = Grade(grade.student, grade.problem_set, State.GRADER_FAULT, grade.sha256, grade.seed)
        return with_fault(bare, what)
    return grade


def write_recounted(released: ReleasedSet, settings: Settings, ledger: Ledger) -> Iterator[str]:
    """Write the outputs of sets whose late days were counted anew; say who has other points there.

    That may have been in an earlier run, which was killed before it came to this.
    """
    for name in released.course.sets():
        journal = Journal(settings.out, name)
        if name == released.name or not journal.is_outdated():
            continue
        records = journal.records()
        outputs = write_outputs(
            ReleasedSet(released.course, name),
            [Graded(record.grade) for record in records],
            settings,
            {record.grade.student: record.origin for record in records},
            {record.grade.student: record.penalties for record in records},
        )
        yield from said_of_kept(outputs.kept)
        journal.mark_outdated(False)
        changes = ledger.recounted.get(name, [])
        shown = [f"{one.student} {one.before:g} → {one.after:g}" for one in changes]
        if shown:
            yield f"late days were counted anew, so {name} has other points: {listed(shown)}"
