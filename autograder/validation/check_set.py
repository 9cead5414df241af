"""Prove that a problem set judges well, before a student meets it.

    solution, reference, alternatives  ──►  full points, in every draw
    stub, answers that mean nothing    ──►  no points
    mistakes                           ──►  fewer points, and their own misconception named
    mutants of the solution            ──►  fewer points, at least 98 % of those that differ
    answers that the author never saw  ──►  what they are due, and no untrue diagnosis
    visible tests                      ──►  pass on every right answer, fail on the stub

The answers are the course's own, so they run in plain processes. No verdict depends on time: a
mutant that never ends is stopped by counting its steps and counts as caught; a mistake that never
ends is declared `endless`. A mutant that changes no behaviour is listed in its check's
`equivalent_mutants` with the reason.
"""

import ast
import builtins
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nbformat import NotebookNode

from autograder.authoring.answers import KnownAnswer
from autograder.authoring.checks import Check, Mistake, ProblemSet, counted, globals_read
from autograder.authoring.notebooks import grading, is_autograded, is_ungraded_work
from autograder.authoring.release import Release, lint
from autograder.grading.judge import LONGEST_CPU_SECONDS, ItemJudge, is_telling
from autograder.records import CheckFault, GraderError, Verdict
from autograder.validation.mutant_fates import mutant_fates
from autograder.validation.plain_process import Answer, Observed, observe
from autograder.validation.unseen_answers import (
    Unseen,
    try_outside,
    try_unseen,
)

LEAST_MUTATION_SCORE = 0.98
DEMANDS = (
    "of each item as many mistakes as its solution has statements (2 to 6), half as many right "
    f"answers written differently (1 to 4); of all mutants, {LEAST_MUTATION_SCORE:.0%} caught"
)
SEEDS = (0, 1, 2)

Namespace = dict[str, Any]

_MEANINGLESS: dict[str, Any] = {
    "None": None,
    "0": 0,
    "1.0": 1.0,
    "an empty tuple": (),
    "an empty dict": {},
}


@dataclass(frozen=True)
class Trial:
    """One answer to one item, and what the checks made of it.

    Attributes:
        kind: "solution", "reference", "alternative", "base" (what mistakes are changed from),
            "stub", "meaningless", "mistake", "mutant".
        share: of the item's points, the least (the most, if it should be caught) over all draws;
            a mutant is dropped at the first case that tells, and then has none.
        caught_by: parts that did not hold.
        stopped: whether it did not end by itself.
        recognised: the misconception that was named.
        seen: whether the visible tests fail on it; None if they were not asked.
        problem: what is wrong with the checks; empty if they did well.
    """

    item: str
    kind: str
    name: str
    share: float
    caught_by: tuple[str, ...] = ()
    recognised: str = ""
    seen: bool | None = None
    stopped: bool = False
    problem: str = ""


@dataclass(frozen=True)
class SetReport:
    """All trials of a set, and whatever else is wrong with it.

    Attributes:
        equivalent: mutants that change no behaviour: item, change, reason.
        faults: problems that belong to no trial.
        unseen: what became of answers that the checks' author has not seen.
        cpu_seconds: what it cost to find all this out.
    """

    name: str
    points: Mapping[str, float]
    trials: tuple[Trial, ...]
    equivalent: tuple[tuple[str, str, str], ...]
    faults: tuple[str, ...]
    unseen: tuple[Unseen, ...] = ()
    cpu_seconds: float = 0.0

    def of(self, item: str | None = None, kind: str | None = None) -> list[Trial]:
        """Return the trials of an item, or of a kind, or both."""
        return [t for t in self.trials if item in (None, t.item) and kind in (None, t.kind)]

    @property
    def survivors(self) -> list[Trial]:
        """Mutants that earn full points and are not listed as equivalent."""
        return [trial for trial in self.of(kind="mutant") if trial.share >= 1]

    @property
    def mutation_score(self) -> float:
        """Share of the behaviour-changing mutants that are caught."""
        tried = len(self.of(kind="mutant"))
        return 1 - len(self.survivors) / tried if tried else 1.0

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that must be fixed before release, in words."""
        tried: tuple[Trial | Unseen, ...] = (*self.trials, *self.unseen)
        found = [f"{t.item}: {t.kind} {t.name!r}: {t.problem}" for t in tried if t.problem]
        if self.mutation_score < LEAST_MUTATION_SCORE:
            found.append(
                f"{self.mutation_score:.1%} of the mutants are caught; "
                f"at least {LEAST_MUTATION_SCORE:.0%} must be"
            )
        return (*self.faults, *found)

    @property
    def ok(self) -> bool:
        """Whether nothing is left to fix."""
        return not self.problems


def check_set(
    problem_set: ProblemSet,
    release: Release,
    *,
    with_mutants: bool = True,
    with_unseen: bool = False,
    answers: Mapping[str, Sequence[KnownAnswer]] = MappingProxyType({}),
    seeds: Sequence[int] = SEEDS,
) -> SetReport:
    """Try a set's checks on everything that is known about its answers.

    Args:
        with_mutants: leave them out for a quick look.
        with_unseen: the longest part: answers that the checks' author has not seen.
        answers: those of another author, by the name that they define.
        seeds: of the draws; right answers must pass with all, mistakes fail with all.

    Raises:
        GraderError: if the notebook lacks a cell that a check is about.
        CheckFault: if a check breaks on the reference version or while judging.
    """
    started = sum(os.times()[:4])  # with the processes that answers run in
    faults = list(lint(release, problem_set))
    trials: list[Trial] = []
    unseen: list[Unseen] = []
    with _one_torch_thread():
        for check in problem_set.checks:
            faults += [*_too_few(check, release), *_free_names(check)]
            judge = ItemJudge()
            trials += _try_answers(judge, check, release, seeds)
            if with_mutants:
                trials += _try_mutants(judge, check, release, seeds[0])
            if with_unseen:
                others = [other for other in problem_set.checks if other is not check]
                source = _cell(release.solution, f"{check.item}_answer").source
                unseen += try_unseen(check, others, seeds[0], _notebook(release.solution), source)
    if with_unseen:
        unseen += check_outside(problem_set, release, answers)
    listed = {check.item: check.equivalent_mutants for check in problem_set.checks}
    trials, equivalent, stale = _set_aside(trials, listed if with_mutants else {})
    points = {check.item: check.points for check in problem_set.checks}
    seconds = sum(os.times()[:4]) - started
    found = (tuple(trials), tuple(equivalent), (*faults, *stale), tuple(unseen))
    return SetReport(problem_set.name, points, *found, seconds)


def check_outside(
    problem_set: ProblemSet, release: Release, answers: Mapping[str, Sequence[KnownAnswer]]
) -> list[Unseen]:
    """Try a set's checks on the answers of another author, by the name that they define.

    Raises:
        CheckFault: if a check breaks.
    """
    solved = _notebook(release.solution)
    found: list[Unseen] = []
    with _one_torch_thread():
        for check in problem_set.checks:
            visible = _cell(release.student, check.item).source
            found += try_outside(check, answers.get(check.target, ()), SEEDS[0], solved, visible)
    return found


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """One answer to try: what it should be, and how to make its namespace."""

    kind: str
    name: str
    answer: Answer
    mistake: Mistake | None = None


def _try_answers(
    judge: ItemJudge, check: Check, release: Release, seeds: Sequence[int]
) -> Iterator[Trial]:
    """Ask every answer once for all seeds, in one process, and judge seed by seed.

    What follows from a seed, as the answers of the reference and the mistakes, is found out once.
    """
    tests = _cell(release.student, check.item).source
    asked = [judge.requests(check, seed) for seed in seeds]
    judge.known_answers(check, seeds[0])  # what probes import for this, every process inherits
    requests = [request for batch in asked for request in batch]
    tried: list[tuple[int, _Candidate, Observed, list[Verdict]]] = []
    telling: set[int] = set()  # those that give a wrong value, by which they can be recognised
    endless: list[Mistake] = []
    trials: dict[int, Trial] = {}
    for place, candidate in enumerate(_candidates(check, release)):
        mistake = candidate.mistake
        is_endless = mistake is not None and mistake.endless
        observed = observe(
            requests,
            candidate.answer,
            tests,
            endless=is_endless,
            cpu_seconds=LONGEST_CPU_SECONDS,
        )
        problem = ""
        if observed.killed:
            problem = f"stopped after {LONGEST_CPU_SECONDS} s of CPU: declare it endless or fix it"
            endless += [mistake] if mistake else []
        elif is_endless and not observed.n_stopped:
            problem = "is declared endless, but it ends in every case"
        if problem:
            stopped = observed.killed
            trials[place] = Trial(
                check.item, candidate.kind, candidate.name, 0.0, stopped=stopped, problem=problem
            )
        else:
            tried.append((place, candidate, observed, []))
    judged = check  # the same object, unless it has to be another one: what is known hangs on it
    if endless:
        kept = tuple(mistake for mistake in check.mistakes if mistake not in endless)
        judged = dataclasses.replace(check, mistakes=kept)
    start = 0
    for seed, batch in zip(seeds, asked, strict=True):
        for place, candidate, observed, verdicts in tried:
            part = observed.observations[start : start + len(batch)]
            verdicts.append(judge.verdict(judged, seed, part))
            if candidate.mistake is None or place in telling:
                continue
            wrong = [(seen.value, judge.what_is_wrong(judged, seed, seen)) for seen in part]
            if is_telling(wrong):
                telling.add(place)
        start += len(batch)
    for place, candidate, observed, verdicts in tried:
        trials[place] = _trial(check, candidate, verdicts, observed, place in telling)
    yield from (trials[place] for place in sorted(trials))


_DUTY = {
    **dict.fromkeys(("solution", "reference", "alternative", "base"), "right"),
    **dict.fromkeys(("stub", "meaningless"), "nothing"),
    "mistake": "wrong",
}


def _candidates(check: Check, release: Release) -> Iterator[_Candidate]:
    solved = _notebook(release.solution)

    def instead(implementation: Any) -> Answer:
        return lambda: {**solved(), check.target: implementation}

    yield _Candidate("solution", "the notebook's", solved)
    yield _Candidate("reference", "the package's", instead(check.reference))
    for alternative in check.alternatives:
        yield _Candidate("alternative", alternative.name, instead(alternative.implementation))
    for base in {mistake.changed_from for mistake in check.mistakes} - {None}:
        yield _Candidate("base", f"{base.__name__} of the mistakes", instead(base))
    yield _Candidate("stub", "the notebook's", _notebook(release.student))
    for title, value in _MEANINGLESS.items():
        yield _Candidate("meaningless", title, instead(lambda *_, value=value, **__: value))
    for mistake in check.mistakes:
        yield _Candidate("mistake", mistake.name, instead(mistake.implementation), mistake)


def _trial(
    check: Check,
    candidate: _Candidate,
    verdicts: Sequence[Verdict],
    observed: Observed,
    tells: bool,
) -> Trial:
    """Say what the checks made of an answer, and what is wrong with them if it is not its due.

    Args:
        tells: whether it gives a wrong value, by which a mistake can be recognised.
    """
    shares = [_share(verdict) for verdict in verdicts]
    named = sorted({v.misconception.name if v.misconception else "" for v in verdicts})
    failed = [part for verdict in verdicts for part in verdict.parts if not part.passed]
    duty, problem = _DUTY[candidate.kind], ""
    if duty == "right" and min(shares) < 1:
        problem = f"a right answer loses points: {failed[0].part}: {failed[0].message}"
    elif duty == "right" and observed.complaint:
        problem = f"the visible tests fail: {observed.complaint}"
    elif duty == "nothing" and max(shares) > 0:
        problem = f"earns {max(shares):.0%} of the points for nothing"
    elif duty == "nothing" and not observed.complaint:
        problem = "the visible tests pass"
    elif duty == "wrong" and max(shares) >= 1:
        problem = "is not caught"
    elif duty == "wrong" and min(shares) != max(shares):
        problem = f"keeps {min(shares):.0%} or {max(shares):.0%} of the points, by the draw"
    elif duty == "wrong" and named != [candidate.name if tells else ""]:
        problem = f"is recognised as {' or '.join(map(repr, named))}"
    return Trial(
        check.item,
        candidate.kind,
        candidate.name,
        min(shares) if duty == "right" else max(shares),
        tuple(dict.fromkeys(part.part for part in failed)),
        recognised=" or ".join(named) if duty == "wrong" else "",
        seen=bool(observed.complaint),
        stopped=observed.n_stopped > 0,
        problem=problem,
    )


def _try_mutants(judge: ItemJudge, check: Check, release: Release, seed: int) -> Iterator[Trial]:
    """Change the solution cell of an item, one operator at a time."""
    source = _cell(release.solution, f"{check.item}_answer").source
    solved = _notebook(release.solution)
    for change, fate in mutant_fates(judge, check, seed, solved, source):
        share = 0.0 if fate.is_caught else 1.0
        yield Trial(
            check.item, "mutant", change, share, caught_by=fate.caught_by, stopped=fate.stopped
        )


def _share(verdict: Verdict) -> float:
    if verdict.fault:
        raise CheckFault(f"{verdict.item}: {verdict.fault}")
    return verdict.points / verdict.max_points


# -- the notebook ----------------------------------------------------------------------------------


def _notebook(notebook: NotebookNode) -> Callable[[], Namespace]:
    """Run the cells that are neither tests nor ungraded work, as grading does."""
    cells = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and not is_autograded(cell) and not is_ungraded_work(cell)
    ]

    def run() -> Namespace:
        namespace: Namespace = {"__name__": "__main__"}
        for source in cells:
            exec(compile(source, "<cell>", "exec"), namespace)
        return namespace

    return run


def _cell(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    for cell in notebook.cells:
        if grading(cell).get("grade_id") == grade_id:
            assert isinstance(cell, NotebookNode)
            return cell
    raise GraderError(f"the notebook has no cell {grade_id}")


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Torch hangs in a forked process whose parent has computed with several threads."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    if torch:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch:
            torch.set_num_threads(before)


# -- the catalogue ---------------------------------------------------------------------------------


def _too_few(check: Check, release: Release) -> Iterator[str]:
    """Name what an item has too little of, as `DEMANDS` says it."""
    solution = ast.parse(_cell(release.solution, f"{check.item}_answer").source)
    n = sum(map(_is_statement, ast.walk(solution)))
    for kind, found, least in (
        ("mistakes", check.mistakes, min(max(n, 2), 6)),
        ("alternatives", check.alternatives, min(max(n // 2, 1), 4)),
    ):
        names = {answer.name for answer in found}
        if len(names) < least:
            size = counted(n, "statement")
            yield f"{check.item}: {len(names)} {kind}; a solution of {size} needs at least {least}"


def _is_statement(node: ast.AST) -> bool:
    """Whether this does something: a docstring and the head of a function do not."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    return isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef)


def _free_names(check: Check) -> Iterator[str]:
    """Names that a probe reads, but neither defines nor imports: it must stand alone."""
    for part in check.parts:
        code = compile(part.probe_source, "<probe>", "exec")
        for name in sorted(globals_read(code) - set(vars(builtins))):
            yield f"{check.item}: the probe of part {part.name!r} reads the global name {name}"


def _set_aside(
    trials: Sequence[Trial], listed: Mapping[str, Mapping[str, str]]
) -> tuple[list[Trial], list[tuple[str, str, str]], list[str]]:
    """Take listed mutants out of the count; complain of those that do change behaviour."""
    kept, equivalent, stale = [], [], []
    waiting = {(item, change): why for item, row in listed.items() for change, why in row.items()}
    for trial in trials:
        reason = waiting.pop((trial.item, trial.name), None) if trial.kind == "mutant" else None
        if reason is None:
            kept.append(trial)
        elif trial.share >= 1:
            equivalent.append((trial.item, trial.name, reason))
        else:
            kept.append(trial)
            stale.append(f"{trial.item}: listed as equivalent, but caught: {trial.name}")
    stale += [f"{item}: no such mutant is made: {change}" for item, change in waiting]
    return kept, equivalent, stale
