"""Grade one submission: repair it, run it inside the sandbox, judge what comes out."""

import contextlib
import random
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from nbformat import NotebookNode

from autograder.authoring.checks import Challenge, Check, ProblemSet
from autograder.authoring.notebooks import is_ungraded_work
from autograder.authoring.release import ReleasedSet
from autograder.grading import judge_process
from autograder.grading.judge import ItemJudge
from autograder.grading.judge_process import JudgeProcess, Unjudged
from autograder.grading.locked_judge import LockedJudge
from autograder.grading.own_process import OwnProcess
from autograder.grading.private_paths import private_packages, reference_packages, repository
from autograder.grading.visible_tests import (
    differences,
    passed,
    raised,
    visible_requests,
    visible_tests,
)
from autograder.grading.watched_process import JudgingLimits
from autograder.handed_out import Files, python_in
from autograder.inside.messages import Failure, ProbeRequest
from autograder.intake.collection import first_few
from autograder.intake.repair import RepairedNotebook, repair
from autograder.records import (
    CellResult,
    Grade,
    Observation,
    Run,
    SandboxUnavailable,
    State,
    Submission,
    SubmissionRefused,
    Verdict,
)
from autograder.sandbox.sandbox import LIBRARIES, Limits, Sandbox
from autograder.sandbox.submission_run import STARVED

_MOST_PRINTED_BY_ONE, _MOST_PRINTED = 10_000, 200_000  # characters that are kept, of a cell and all
_LONGEST_ERROR = 2_000


@dataclass(frozen=True)
class Confinement:
    """What student code may use.

    Attributes:
        limits: by default `Limits()` with the time that the course gives.
        container: the OCI runtime that makes its container; empty for the sandbox of this machine.
        trusted: run it without a sandbox, with the grader's own rights.
        private: files and folders that it must not reach, the course and its references apart.
        judging: what it may take to judge what comes out; by default `judge_process.LIMITS`.
    """

    limits: Limits | None = None
    container: str = ""
    trusted: bool = False
    private: tuple[Path, ...] = field(default=(), repr=False)  # no reason to grade again
    judging: JudgingLimits | None = field(default=None, repr=False)  # likewise


@dataclass(frozen=True)
class Task:
    """One submission to be graded.

    Attributes:
        key: what its record will be known by.
        reasons: what was noticed while it was collected.
        refusal: why its file could not even be read; empty if it could.
    """

    submission: Submission
    key: str
    seed: int
    reasons: tuple[str, ...] = ()
    refusal: str = ""

    def without_bytes(self) -> Self:
        """Leave the notebook out, to be read again when its turn comes."""
        return replace(self, submission=replace(self.submission, notebook=b""))


@dataclass(frozen=True)
class Graded:
    """A grade, and the notebook that it is about, for the pages that show both.

    Attributes:
        repaired: None where there was no notebook to read, or where it is not at hand.
    """

    grade: Grade
    repaired: RepairedNotebook | None = None

    @property
    def was_starved(self) -> bool:
        """Whether points may be missing because the machine let it wait."""
        return STARVED in self.grade.reasons


class Grader:
    """Grades submissions to one set, one after another: in one sandbox, with one judge beside it.

    Use it as a context manager, in the thread that created it.

    Args:
        own: where to run it instead if it is the caller's own code, which needs no sandbox.

    Raises:
        SandboxUnavailable: on entering, if student code cannot be isolated here.
    """

    def __init__(
        self, released: ReleasedSet, confinement: Confinement, own: OwnProcess | None = None
    ) -> None:
        course, student = released.course, released.notebooks.student
        self._released = released
        self._references = reference_packages(released.problem_set.checks)
        self.judging_limits = confinement.judging or judge_process.LIMITS
        asked = list(released.problem_set.checks)
        if isinstance(challenge := released.problem_set.challenge, Challenge):
            asked.append(challenge.check)
        self._judging = self._judge_of(asked)
        self._visible = visible_tests(student)
        self._sandbox = own or Sandbox(
            libraries=libraries_for(released.problem_set, student, released.given_in_sandbox),
            private=(
                *map(repository, course.folders()),
                *private_packages(course.check_files(released.name), student, released.files),
                *confinement.private,
            ),
            limits=confinement.limits or Limits(submission_seconds=released.policy.seconds),
            files=released.given_in_sandbox,
            container=confinement.container,
            allow_unsandboxed=confinement.trusted,
        )

    def __enter__(self) -> Self:
        self._sandbox.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._judging.end()
        self._sandbox.__exit__(kind, error, trace)

    def _judge_of(self, checks: Sequence[Check]) -> JudgeProcess:
        kind = ItemJudge if self._released.course.has_checks else LockedJudge
        judge = kind(self._references, len(checks))
        return JudgeProcess(judge, self._released, self.judging_limits, checks)

    def grade(self, task: Task) -> Graded:
        """Grade one submission; whatever goes wrong with it becomes the state of its grade.

        Raises:
            SandboxUnavailable: if the sandbox cannot be started again.
        """
        started, repaired = time.monotonic(), None
        try:
            if task.refusal:
                raise SubmissionRefused(task.refusal)
            repaired = repair(task.submission.notebook, self._released)
            grade = self._grade(task, repaired)
        except SandboxUnavailable:
            raise
        except SubmissionRefused as refusal:
            grade = refused(task, self._released.problem_set, str(refusal))
        except Exception as error:
            grade = faulty(task, f"the grader failed: {type(error).__name__}: {error}")
        return Graded(replace(grade, seconds=time.monotonic() - started), repaired)

    def _grade(self, task: Task, repaired: RepairedNotebook) -> Grade:
        targets = self._released.targets
        answered = [item for item in targets if item not in repaired.blank]
        shown = visible_requests(self._visible, targets, answered)
        checks = self._released.problem_set.checks
        run, verdicts, unjudged = self.judge(repaired, task.seed, checks, shown)
        imports = _imported_answers(run, targets, self._references)
        problems = first_few(problem for problem in run.problems if problem != STARVED)
        problems += [STARVED] * (STARVED in run.problems)
        reasons = (
            *task.reasons,
            *repaired.reasons,
            *problems,
            *imports,
            *unjudged.values(),
        )
        state = State.GRADED_WITH_PROBLEMS if reasons else State.GRADED
        if unjudged:
            state = State.GRADER_FAULT
        if run.tampered:
            state = State.TAMPERED
        if any(verdict.fault for verdict in verdicts):
            state = State.GRADER_FAULT
        return replace(
            _ungraded(task, state, reasons),
            verdicts=verdicts,
            isolation=self._sandbox.isolation,
            cells=tuple(_to_be_kept(run.cells)),
            differences=differences(run.observations, shown),
            visible=passed(run.observations, shown),
            unjudged=unjudged,
        )

    def judge(
        self,
        repaired: RepairedNotebook,
        seed: int,
        checks: Sequence[Check],
        shown: Sequence[ProbeRequest] = (),
        counts_cpu: bool = False,
    ) -> tuple[Run, tuple[Verdict, ...], dict[str, str]]:
        """Run a repaired notebook inside the sandbox and judge some of its items.

        Args:
            shown: what to ask before anything hidden comes near the student's code.
            counts_cpu: also find out what CPU time the answers take.

        Returns:
            The run, the verdicts, and for each item that has none why it could not be judged.
        """
        if self._judging.knows(checks):
            return self._judged(self._judging, repaired, seed, checks, shown, counts_cpu)
        other = self._judge_of(checks)
        try:
            return self._judged(other, repaired, seed, checks, shown, counts_cpu)
        finally:
            other.end()

    def _judged(
        self,
        judging: JudgeProcess,
        repaired: RepairedNotebook,
        seed: int,
        checks: Sequence[Check],
        shown: Sequence[ProbeRequest],
        counts_cpu: bool,
    ) -> tuple[Run, tuple[Verdict, ...], dict[str, str]]:
        unjudged: dict[str, str] = {}
        hidden: list[ProbeRequest] = []
        known: dict[bytes, Any] = {}
        for check in checks:
            try:
                asked = judging.asked(check, seed)
            except Unjudged as why:
                unjudged[check.item] = str(why)
                continue
            hidden += asked.requests
            known |= asked.known
        hidden = in_unforeseen_order(hidden, seed, repaired.cells)
        run = self._sandbox.run(repaired.cells, [*shown, *hidden], known, counts_cpu)
        seen: dict[str, list[Observation]] = {}
        for observation in run.observations:
            seen.setdefault(observation.item, []).append(observation)
        names = raised(run.observations, shown)
        judging.begin()
        verdicts = []
        for check in (check for check in checks if check.item not in unjudged):
            ours, name = seen.get(check.item, []), names.get(check.item, "")
            try:
                verdicts.append(judging.verdict(check, seed, ours, name))
            except Unjudged as why:
                unjudged[check.item] = str(why)
        return run, tuple(verdicts), unjudged

    def explain(self, submission: Submission, seed: int, item: str) -> Verdict:
        """Judge one item of a submission again, with the same questions.

        Raises:
            KeyError: if the set has no such item.
            SubmissionRefused: if the submission is no notebook.
            Unjudged: if what judges it takes too much.
        """
        repaired = repair(submission.notebook, self._released)
        check = self._released.problem_set.check(item)
        _, verdicts, unjudged = self.judge(repaired, seed, [check])
        if item in unjudged:
            raise Unjudged(unjudged[item])
        return verdicts[0]


def in_unforeseen_order(
    requests: Sequence[ProbeRequest], seed: int, cells: Sequence[str]
) -> list[ProbeRequest]:
    """Shuffle among themselves the requests that have partners: no place says which one comes.

    The order follows from the secret seed and from every letter of the notebook, so that nobody who
    hands in again finds the same one.
    """
    places = [place for place, request in enumerate(requests) if request.partner]
    shuffled = random.Random(repr((seed, *cells))).sample(places, len(places))
    ordered = list(requests)
    for place, other in zip(places, shuffled, strict=True):
        ordered[place] = requests[other]
    return ordered


def _imported_answers(
    run: Run, targets: Mapping[str, str], references: Collection[str]
) -> Iterator[str]:
    """Say which answers were imported from where the reference versions stand, or were to be."""
    for seen in run.observations:
        if isinstance(seen.value, Failure) and seen.value.kind == "imported":
            yield f"{targets[seen.item]} is imported from where the answer stands: it earns nothing"
    for cell in run.cells:
        for name in sorted(references):
            if re.match(rf"(ImportError|ModuleNotFoundError): .*\b{name}\b", cell.error or ""):
                yield f"a cell imports {name}, which holds answers and is not there while grading"


def libraries_for(
    problem_set: ProblemSet, released: NotebookNode, files: Files = MappingProxyType({})
) -> tuple[str, ...]:
    """Name the slow libraries that submissions to a set are sure to load.

    Those of which the released code, a module beside it, or a probe holds every word.
    """
    words: set[str] = set()
    for source in (*_sources(problem_set, released), *python_in(files)):
        words.update(re.findall(r"\w+", source))
    return tuple(name for name in LIBRARIES if words.issuperset(name.split(".")))


def _sources(problem_set: ProblemSet, released: NotebookNode) -> Iterator[str]:
    for cell in released.cells:
        if cell.cell_type == "code" and not is_ungraded_work(cell):
            yield cell.source
    for check in problem_set.checks:
        for part in check.parts:
            with contextlib.suppress(OSError, TypeError):  # a faulty check; its judge will say so
                yield part.probe_source


def refused(task: Task, problem_set: ProblemSet, reason: str) -> Grade:
    """Return the grade of a submission that cannot be graded: no points, and the reason."""
    none = tuple(Verdict(check.item, 0.0, check.points, ()) for check in problem_set.checks)
    return replace(_ungraded(task, State.REFUSED, (*task.reasons, reason)), verdicts=none)


def _to_be_kept(cells: Iterable[CellResult]) -> Iterator[CellResult]:
    """Cut what cells have printed to what somebody reads: every command loads all records."""
    left = _MOST_PRINTED
    for cell in cells:
        output = cell.output[: min(left, _MOST_PRINTED_BY_ONE)]
        left -= len(output)
        if more := len(cell.output) - len(output):
            output += f"\n[{more} more characters are not kept]"
        yield replace(cell, output=output, error=cell.error and cell.error[:_LONGEST_ERROR])


def faulty(task: Task, reason: str) -> Grade:
    """Return the grade of a submission on which the grader itself failed: no verdict at all."""
    return _ungraded(task, State.GRADER_FAULT, (*task.reasons, reason))


def _ungraded(task: Task, state: State, reasons: Sequence[str]) -> Grade:
    return Grade(
        student=task.submission.student,
        problem_set=task.submission.problem_set,
        state=state,
        sha256=task.submission.sha256,
        seed=task.seed,
        reasons=tuple(dict.fromkeys(reasons)),
    )
