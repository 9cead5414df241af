"""Take a class through the stages: receive, grade, record, book, explain.

    folder ─► received/ ─► Grader (mend, sandbox ═╡wall╞═, judge) ─► records/ ─► gradebook
                                                                          └─► feedback/, autograded/

Everything up to `records/` is done once for each submission; everything after it is made again from
the records and the received copies. So a run that is killed at any moment loses nothing: the next
one skips students whose record bears the same key, and writes the outputs of all.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder import feedback, release
from autograder.collection import collect, read_notebook
from autograder.course import Course
from autograder.files import write_atomically
from autograder.fingerprint import fingerprint
from autograder.gradebook import Gradebook, formgrader_notebook
from autograder.grader import Confinement, Task, targets
from autograder.journal import Journal, Record
from autograder.judge import submission_seed
from autograder.notebooks import as_text
from autograder.processes import Job, grade_all
from autograder.records import Grade, State, Submission, SubmissionRefused
from autograder.submission import Mended, mend


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    Attributes:
        out: folder below which everything is written.
        database: address of nbgrader's gradebook; empty for a SQLite file in `out`.
        jobs: processes that grade at the same time.
        resume: take over records that were made from the same things.
    """

    out: Path
    database: str = ""
    jobs: int = 1
    resume: bool = True
    confinement: Confinement = field(default_factory=Confinement)

    @property
    def url(self) -> str:
        """Address of the gradebook."""
        return self.database or f"sqlite:///{(self.out / 'gradebook.db').resolve()}"


@dataclass(frozen=True)
class Change:
    """Points that differ from those an earlier run recorded."""

    student: str
    before: float
    after: float


@dataclass(frozen=True)
class ClassResult:
    """What became of a class: one grade for each submission received.

    Attributes:
        reused: how many grades were taken over from an earlier run.
        page: the instructor's page, which leads to each student's.
    """

    problem_set: str
    grades: tuple[Grade, ...]
    reused: int
    changes: tuple[Change, ...]
    seconds: float
    page: Path

    @property
    def states(self) -> Counter[State]:
        """How many submissions ended in each state."""
        return Counter(grade.state for grade in self.grades)


@dataclass
class Watcher:
    """Who wants to hear how a run goes on; every method may be replaced."""

    received: Callable[[int], None] = lambda n_submissions: None
    graded: Callable[[Grade, bool], None] = lambda grade, reused: None


def grade_class(
    course: Course,
    name: str,
    submissions: Path,
    settings: Settings,
    watcher: Watcher | None = None,
) -> ClassResult:
    """Grade every submission in a folder and write all outputs.

    Raises:
        GraderError: if nothing can be graded at all, or the outputs cannot be written; says why.
            What was recorded stays, and the next run goes on from there.
    """
    started = time.monotonic()
    watcher = watcher or Watcher()
    journal = Journal(settings.out, name)
    with journal.only_writer():
        tasks = _receive(course, name, submissions, journal, settings)
        watcher.received(len(tasks))
        earlier = {task.key: journal.read(task.submission.student) for task in tasks}
        grades: list[Grade] = []
        waiting: list[Task] = []
        for task in tasks:
            record = earlier[task.key]
            if settings.resume and record is not None and _still_holds(record, task):
                grades.append(record.grade)
                watcher.graded(record.grade, True)
            else:
                waiting.append(task)
        job = Job(course, name, settings.confinement)
        for task, grade in grade_all(job, waiting, settings.jobs):
            journal.write(Record(task.key, grade))
            grades.append(grade)
            watcher.graded(grade, False)
        grades.sort(key=lambda grade: grade.student)
        page = write_outputs(course, name, grades, settings)
    return ClassResult(
        problem_set=name,
        grades=tuple(grades),
        reused=len(tasks) - len(waiting),
        changes=_changes(earlier.values(), grades),
        seconds=time.monotonic() - started,
        page=page,
    )


def write_outputs(course: Course, name: str, grades: Sequence[Grade], settings: Settings) -> Path:
    """Write gradebook, formgrader's notebooks and feedback; return the instructor's page.

    Made from records and received copies alone, so it may be repeated at any time, for example
    after hand grading.
    """
    problem_set, built = course.problem_set(name), release.build(course.source(name))
    journal = Journal(settings.out, name)
    layout = feedback.Layout.of(problem_set, built.student)
    with Gradebook(settings.url) as book:
        book.register(name, built.recorded)
        mended = {}
        for grade in grades:
            mended[grade.student] = _mended(journal, grade, built, targets(problem_set))
            found = mended[grade.student]
            book.record(grade, found.blank if found else frozenset())
        by_hand = book.hand_grades(name)
    for grade in grades:
        found = mended.pop(grade.student)
        # nbgrader's layout, so that its release_feedback and formgrader find the files.
        place = Path(grade.student, name)
        html = feedback.student_page(layout, grade, found, by_hand.get(grade.student, {}))
        write_atomically(settings.out / "feedback" / place / f"{name}.html", html.encode())
        if found is not None:
            notebook = as_text(formgrader_notebook(found.notebook, grade))
            write_atomically(
                settings.out / "autograded" / place / f"{name}.ipynb", notebook.encode()
            )
    # Apart from the students' pages, whose folder may be published as it is.
    page = settings.out / "dashboard" / name / "index.html"
    write_atomically(page, feedback.class_page(layout, grades, by_hand).encode())
    return page


def _mended(
    journal: Journal, grade: Grade, built: release.Release, answers: Mapping[str, str]
) -> Mended | None:
    """Mend the received copy once more; None where there never was a readable notebook."""
    if not grade.sha256:
        return None
    notebook = journal.submission(grade.student, grade.sha256).notebook
    try:
        return mend(notebook, built.student, answers)
    except SubmissionRefused:
        return None


# ------------------------------------------------------------------ what is to be done
def _receive(
    course: Course, name: str, folder: Path, journal: Journal, settings: Settings
) -> list[Task]:
    """Copy every submission in before anything runs; a student is there even if the file is not."""
    salt, decides = journal.salt(), fingerprint(course, name)
    tasks = []
    for found in collect(folder, name):
        data, digest, refusal = b"", "", ""
        try:
            data = read_notebook(found)
            digest = journal.keep(data)
        except SubmissionRefused as error:
            refusal = str(error)
        reasons = found.reasons if found.path is not None else ()
        seed = submission_seed(salt, found.student, name)
        ingredients = [found.student, digest, refusal, reasons, seed, decides]
        key = json.dumps([*ingredients, repr(settings.confinement)])
        tasks.append(
            Task(
                Submission(found.student, name, data, digest),
                hashlib.sha256(key.encode()).hexdigest(),
                seed,
                reasons,
                refusal,
            )
        )
    return tasks


def _still_holds(record: Record, task: Task) -> bool:
    """Whether grading again would give the same; a fault of the grader deserves another try."""
    return record.key == task.key and record.grade.state is not State.GRADER_FAULT


def _changes(earlier: Iterable[Record | None], grades: Sequence[Grade]) -> tuple[Change, ...]:
    records = [record for record in earlier if record is not None]
    before = {record.grade.student: record.grade.points for record in records}
    return tuple(
        Change(grade.student, before[grade.student], grade.points)
        for grade in grades
        if before.get(grade.student, grade.points) != grade.points
    )
