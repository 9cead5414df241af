"""Take a class through the stages: receive, grade, record, book, explain.

    folder ─► received/ ─► Grader (mend, sandbox ═╡wall╞═, judge) ─► records/ ─► gradebook
                                                                          └─► feedback/, autograded/

Everything up to `records/` is done once for each submission; everything after it is made again from
the records and the received copies. Times and penalties are no part of what is done once: they
follow the course's policy in every run. So a run that is killed at any moment loses nothing: the
next one skips students whose record bears the same key, and writes the outputs of all.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from autograder import dashboard, feedback, release
from autograder.checks import ProblemSet
from autograder.collection import Delivery, collect, read_notebook
from autograder.course import Course
from autograder.files import write_atomically, write_if_new
from autograder.fingerprint import ingredients, part_digests
from autograder.gradebook import Gradebook, formgrader_notebook
from autograder.grader import Confinement, Task, targets
from autograder.journal import Journal, Record
from autograder.judge import submission_seed
from autograder.layouts import Layout
from autograder.notebooks import as_text
from autograder.policy import read_policy
from autograder.processes import Job, grade_all
from autograder.records import Grade, HandGrade, State, Submission, SubmissionRefused, Timing
from autograder.regrade import PART, Change, change_between
from autograder.submission import Mended, mend


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    Attributes:
        out: folder below which everything is written.
        database: address of nbgrader's gradebook; empty for a SQLite file in `out`.
        jobs: processes that grade at the same time.
        resume: take over records that were made from the same things.
        layout: how the submissions are named; recognised by their names if None.
    """

    out: Path
    database: str = ""
    jobs: int = 1
    resume: bool = True
    confinement: Confinement = field(default_factory=Confinement)
    layout: Layout | None = None

    @property
    def url(self) -> str:
        """Address of the gradebook."""
        return self.database or f"sqlite:///{(self.out / 'gradebook.db').resolve()}"


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


@dataclass(frozen=True)
class Planned:
    """What would be done with one submission: "grade", "take over" or "refuse", and why."""

    student: str
    action: str
    reason: str
    timing: Timing


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
    held: Collection[Path] = (),
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
    with journal.only_writer():
        delivery = collect(submissions, name, settings.layout)
        watcher.found(delivery)
        received = _receive(course, name, delivery, journal, settings, held)
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
        for task, grade in grade_all(job, tasks, settings.jobs):
            watcher.graded(ledger.enter(by_key[task.key], grade), False)
        grades = tuple(sorted(ledger.grades, key=lambda grade: grade.student))
        page = write_outputs(course, name, grades, settings)
    return ClassResult(
        problem_set=name,
        grades=grades,
        reused=len(received) - len(tasks),
        changes=tuple(sorted(ledger.changes, key=lambda change: change.student)),
        seconds=time.monotonic() - started,
        page=page,
        notices=tuple(_unused_extensions(course, name, received)),
    )


def plan(course: Course, name: str, submissions: Path, settings: Settings) -> tuple[Planned, ...]:
    """Say what `grade_class` would do with each submission; write nothing, run nothing.

    Raises:
        GraderError: as `grade_class`.
    """
    journal = Journal(settings.out, name)
    released = release.build(course.source(name)).student
    answers = targets(course.problem_set(name))
    planned = []
    delivery = collect(submissions, name, settings.layout)
    for one in _look_at(course, name, delivery, journal, settings):
        task, refusal = one.task, one.task.refusal
        if not refusal:
            try:
                mend(task.submission.notebook, released, answers)
            except SubmissionRefused as error:
                refusal = str(error)
        student, timing = task.submission.student, one.timing
        if one.takes_over(settings.resume):
            planned.append(Planned(student, "take over", "nothing has changed", timing))
        elif refusal:
            planned.append(Planned(student, "refuse", refusal, timing))
        else:
            planned.append(Planned(student, "grade", _why(one, settings.resume), timing))
    return tuple(planned)


def write_outputs(course: Course, name: str, grades: Sequence[Grade], settings: Settings) -> Path:
    """Write gradebook, formgrader's notebooks and feedback; return the instructor's page.

    Made from records and received copies alone, so it may be repeated at any time, for example
    after hand grading.
    """
    problem_set, built = course.problem_set(name), release.build(course.source(name))
    journal = Journal(settings.out, name)
    layout = feedback.Layout.of(problem_set, built.student)
    with Gradebook(settings.url) as book:
        book.register(name, built.recorded, read_policy(course, name).due)
        given, pages = book.hand_grades(name), _Pages(settings.out, problem_set, built)
        book.record(name, ((grade, pages.write(grade, given)) for grade in grades))
        by_hand = book.hand_grades(name)
    # Apart from the students' pages, whose folder may be published as it is.
    page, changes = settings.out / "dashboard" / name / "index.html", journal.changes()
    write_atomically(page, dashboard.class_page(layout, grades, by_hand, len(changes)).encode())
    history = dashboard.changes_page(layout, changes)
    write_atomically(page.with_name("changes.html"), history.encode())
    return page


class _Pages:
    """Writes what is made for each student: one at a time, so a class need not fit in memory."""

    def __init__(self, out: Path, problem_set: ProblemSet, built: release.Release) -> None:
        self._out = out
        self._name = problem_set.name
        self._journal = Journal(out, problem_set.name)
        self._layout = feedback.Layout.of(problem_set, built.student)
        self._released = built.student
        self._targets = targets(problem_set)

    def write(self, grade: Grade, by_hand: Mapping[str, Mapping[str, HandGrade]]) -> frozenset[str]:
        """Write feedback and formgrader's notebook; return which items were left blank."""
        mended = self._mended(grade)
        # nbgrader's layout, so that its release_feedback and formgrader find the files.
        place = Path(grade.student, self._name)
        given = by_hand.get(grade.student, {})
        html = feedback.student_page(self._layout, grade, mended, given)
        write_if_new(self._out / "feedback" / place / f"{self._name}.html", html.encode())
        if mended is None:
            return frozenset()
        notebook = as_text(formgrader_notebook(mended.notebook, grade))
        write_if_new(self._out / "autograded" / place / f"{self._name}.ipynb", notebook.encode())
        return mended.blank

    def _mended(self, grade: Grade) -> Mended | None:
        """Mend the received copy once more; None where there never was a readable notebook."""
        if not grade.sha256:
            return None
        notebook = self._journal.submission(grade.student, grade.sha256).notebook
        try:
            return mend(notebook, self._released, self._targets)
        except SubmissionRefused:
            return None


# ------------------------------------------------------------------ what is to be done
@dataclass(frozen=True)
class _Received:
    """One submission, what its grade will be made from, and what an earlier run made of it."""

    task: Task
    timing: Timing
    made_from: Mapping[str, str]
    earlier: Record | None
    held: bool = False

    @property
    def earlier_grade(self) -> Grade:
        """The grade to take over; only asked for where there is one."""
        assert self.earlier is not None
        return self.earlier.grade

    def takes_over(self, resume: bool) -> bool:
        """Whether an earlier grade stands; a fault of the grader deserves another try."""
        if self.earlier is None or self.held:
            return self.held and self.earlier is not None
        fault = self.earlier.grade.state is State.GRADER_FAULT
        return resume and self.earlier.key == self.task.key and not fault


class _Ledger:
    """Writes grades into the journal and notes which of them have changed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.grades: list[Grade] = []
        self.changes: list[Change] = []

    def enter(self, one: _Received, grade: Grade) -> Grade:
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


def _receive(
    course: Course,
    name: str,
    delivery: Delivery,
    journal: Journal,
    settings: Settings,
    held: Collection[Path],
) -> list[_Received]:
    """Copy every submission in before anything runs; a student is there even if the file is not."""
    journal.make_salt()
    received = []
    for one in _look_at(course, name, delivery, journal, settings, held):
        if one.task.submission.sha256:
            journal.keep(one.task.submission.notebook)
            one = replace(one, task=one.task.without_bytes())
        if not one.held or one.earlier is not None:
            received.append(one)
    return received


def _look_at(
    course: Course,
    name: str,
    delivery: Delivery,
    journal: Journal,
    settings: Settings,
    held: Collection[Path] = (),
) -> Iterator[_Received]:
    """Read every submission, and what an earlier run recorded of it; write nothing."""
    decides = ingredients(course, name) | {"limits": repr(settings.confinement)}
    parts = {f"{PART}{name}": digest for name, digest in part_digests(course, name).items()}
    policy, now = read_policy(course, name), datetime.now(UTC)
    released = release.build(course.source(name)).student
    points = feedback.Layout.of(course.problem_set(name), released).points
    for found in delivery:
        is_held = found.path in held
        data, refusal = b"", "it is still being copied" if is_held else ""
        if not is_held:
            try:
                data = read_notebook(found)
            except SubmissionRefused as error:
                refusal = str(error)
        digest = hashlib.sha256(data).hexdigest() if not refusal else ""
        seed = submission_seed(journal.salt(), found.student, name)
        reasons = found.reasons if found.path is not None else ()
        key = json.dumps([found.student, digest, refusal, reasons, seed, decides])
        task = Task(
            Submission(found.student, name, data, digest),
            hashlib.sha256(key.encode()).hexdigest(),
            seed,
            reasons,
            refusal,
        )
        own = {"submission": digest or refusal, "questions": str(seed)}
        timing = policy.timing(found, points, now)
        earlier = journal.read(found.student)
        yield _Received(task, timing, {**own, **decides, **parts}, earlier, is_held)


def _why(one: _Received, resume: bool) -> str:
    """Say why a submission is graded though something is recorded for its student."""
    if one.earlier is None:
        return "it is new"
    if one.earlier.key == one.task.key:
        return "the grader had failed" if resume else "asked to grade again"
    names = {name.partition(":")[0].removeprefix(PART) for name in _changed_names(one)}
    return f"changed since it was graded: {', '.join(sorted(names))}"


def _changed_names(one: _Received) -> list[str]:
    """Names of what the earlier grade was made from and is different now."""
    before = one.earlier.made_from if one.earlier is not None else {}
    return [
        name for name in {**before, **one.made_from} if before.get(name) != one.made_from.get(name)
    ]


def _unused_extensions(course: Course, name: str, received: Sequence[_Received]) -> Iterator[str]:
    here = {one.task.submission.student for one in received}
    for student in read_policy(course, name).extensions:
        if student not in here:
            yield f"an extension names {student!r}, but nobody of that name has handed in {name}"
