"""Prove that a problem set judges well, before a student meets it.

    solution, reference, right answers ──►  full points, in every draw
    stub, answers that mean nothing    ──►  no points
    mistakes                           ──►  fewer points, and their own misconception named
    mutants of the solution            ──►  fewer points, at least 98 % of those that differ
    answers that the author never saw  ──►  fewer points, and no untrue diagnosis
    visible tests                      ──►  pass on every right answer, fail on the stub

The answers are the course's own, so they run in plain processes. No verdict depends on time: a
mutant that never ends is stopped by counting its steps and counts as caught; a mistake that never
ends is declared `endless`. A mutant that changes no behaviour is listed in its check's
`equivalent_mutants` with the reason.
"""

import ast
import builtins
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from autograder.authoring.answers import KnownAnswer
from autograder.authoring.checks import Check, ProblemSet, counted, globals_read
from autograder.authoring.files_needed import files_missing
from autograder.authoring.lint import lint
from autograder.authoring.release import Release
from autograder.grading.diagnosis import LONGEST_CPU_SECONDS
from autograder.grading.judge import ItemJudge
from autograder.handed_out import beside
from autograder.inside.probe import describe
from autograder.records import GraderError
from autograder.validation.mutant_fates import mutant_fates
from autograder.validation.plain_process import in_fork
from autograder.validation.trials import Trial, cell_of, namespace_of, try_answers
from autograder.validation.unseen_answers import (
    Unseen,
    try_unseen,
    try_written,
)

LEAST_MUTATION_SCORE = 0.98
DEMANDS = (
    "of each item as many mistakes as its solution has statements (2 to 6), half as many right "
    f"answers written differently (1 to 4); of all mutants, {LEAST_MUTATION_SCORE:.0%} caught"
)
"""The one rule of how much an item needs: `_too_few` demands it, `check` prints it."""
SEEDS = (0, 1, 2)

Namespace = dict[str, Any]


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
        problems = [f"{t.item}: {t.kind} {t.name!r}: {t.problem}" for t in tried if t.problem]
        if self.mutation_score < LEAST_MUTATION_SCORE:
            problems.append(
                f"{self.mutation_score:.1%} of the mutants are caught; "
                f"at least {LEAST_MUTATION_SCORE:.0%} must be"
            )
        return (*self.faults, *problems)

    @property
    def ok(self) -> bool:
        """Whether nothing is left to fix."""
        return not self.problems


def check_set(
    problem_set: ProblemSet,
    release: Release,
    answers: Mapping[str, Sequence[KnownAnswer]] = MappingProxyType({}),
    *,
    items: Sequence[str] = (),
    with_mutants: bool = True,
    with_unseen: bool = False,
    seeds: Sequence[int] = SEEDS,
) -> SetReport:
    """Try a set's checks on everything that is known about its answers.

    Args:
        answers: right and wrong ones that were written to be tried, by the name they define.
        items: those to try, by that name or their own; all if empty.
        with_mutants: leave them out for a quick look.
        with_unseen: the longest part: answers made of the catalogue that its author has not seen.
        seeds: of the draws; right answers must pass with all, mistakes fail with all.

    Raises:
        GraderError: if an item is none of the set's, or the notebook lacks a cell that a check is
            about.
        CheckFault: if a check breaks on the reference version or while judging.
    """
    started = sum(os.times()[:4])  # with the processes that answers run in
    trial = _SetOnTrial(problem_set, release, seeds)
    with _one_torch_thread(), beside(release.files):
        trial.refuse_cells_that_stop()
        for check in _chosen(problem_set, items):
            trial.try_item(check, answers.get(check.target, ()), with_mutants, with_unseen)
    return trial.report(sum(os.times()[:4]) - started)


class _SetOnTrial:
    """A set whose items are tried one after the other, and what was found so far."""

    def __init__(self, problem_set: ProblemSet, release: Release, seeds: Sequence[int]) -> None:
        self.problem_set, self.release, self.seeds = problem_set, release, seeds
        self.solved = namespace_of(release.solution)
        self.faults = [*lint(release, problem_set), *files_missing(release)]
        self.points: dict[str, float] = {}
        self.trials: list[Trial] = []
        self.equivalent: list[tuple[str, str, str]] = []
        self.unseen: list[Unseen] = []

    def refuse_cells_that_stop(self) -> None:
        """Run the notebook with its solution, before anything is blamed on an answer."""

        def work(send: Callable[[bytes], None]) -> None:
            try:
                self.solved()
            except BaseException as error:
                send(describe(error).encode())

        (*said,), _ = in_fork(work, LONGEST_CPU_SECONDS)
        if said:
            lacks = "".join(f"; {one}" for one in files_missing(self.release))
            raise GraderError(
                f"the cells of {self.problem_set.name} stop with its own solution: "
                f"{said[0].decode(errors='replace')}{lacks}"
            )

    def try_item(
        self, check: Check, written: Sequence[KnownAnswer], with_mutants: bool, with_unseen: bool
    ) -> None:
        """Try one check; see `check_set`."""
        right = [answer for answer in written if answer.is_right]
        wrong = [answer for answer in written if not answer.is_right]
        solution = cell_of(self.release.solution, f"{check.item}_answer").source
        judge, seed = ItemJudge(), self.seeds[0]
        self.points[check.item] = check.points
        self.faults += [*_too_few(check, len(right), solution), *_free_names(check)]
        tried = try_answers(judge, check, right, self.release, self.seeds)
        self.trials += tried
        self.faults += _kept_too_much(check, tried)
        self.unseen += try_written(check, wrong, seed, self.solved)
        if with_mutants and not check.chance:  # a test with other inputs is another, as good a test
            mutants = list(_try_mutants(judge, check, seed, self.solved, solution))
            kept, equivalent, stale = _set_aside(mutants, check)
            self.trials += kept
            self.equivalent += equivalent
            self.faults += stale
        if with_unseen:
            others = [c for c in self.problem_set.checks if c.item != check.item]
            self.unseen += try_unseen(check, others, seed, self.solved, solution)

    def report(self, cpu_seconds: float) -> SetReport:
        """Return what was found."""
        return SetReport(
            self.problem_set.name,
            self.points,
            tuple(self.trials),
            tuple(self.equivalent),
            tuple(self.faults),
            tuple(self.unseen),
            cpu_seconds,
        )


def _chosen(problem_set: ProblemSet, items: Sequence[str]) -> list[Check]:
    """Return the checks of these items, in the set's order."""
    known = {check.target: check for check in problem_set.checks}
    for item in items:
        if item not in known and item not in {check.item for check in problem_set.checks}:
            raise GraderError(
                f"no item {item!r} in {problem_set.name}; it has: {', '.join(known)}. "
                "A new item's check is named in problem_set.py"
            )
    return [
        check
        for check in problem_set.checks
        if not items or check.item in items or check.target in items
    ]


# -- mutants ---------------------------------------------------------------------------------------


def _try_mutants(
    judge: ItemJudge,
    check: Check,
    seed: int,
    solved: Callable[[], Namespace],
    solution: str,
) -> Iterator[Trial]:
    """Change the solution cell of an item, one operator at a time."""
    for change, fate in mutant_fates(judge, check, seed, solved, solution):
        share = 0.0 if fate.is_caught else 1.0
        yield Trial(
            check.item, "mutant", change, share, caught_by=fate.caught_by, stopped=fate.stopped
        )


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


def _too_few(check: Check, n_right: int, solution: str) -> Iterator[str]:
    """Name what an item has too little of, as `DEMANDS` says it."""
    n = sum(map(_is_statement, ast.walk(ast.parse(solution))))
    for kind, n_found, least in (
        ("mistake", len({mistake.name for mistake in check.mistakes}), min(max(n, 2), 6)),
        ("right answer", n_right, min(max(n // 2, 1), 4)),
    ):
        if n_found < least:
            size = counted(n, "statement")
            yield (
                f"{check.item}: {counted(n_found, kind)}; "
                f"a solution of {size} needs at least {least}"
            )


def _is_statement(node: ast.AST) -> bool:
    """Whether this does something: a docstring and the head of a function do not."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    return isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef)


def _kept_too_much(check: Check, tried: Sequence[Trial]) -> Iterator[str]:
    """Say which mistakes keep more than one that leaves the point of the task alone."""
    most = max(part.weight for part in check.parts)
    point = {part.name for part in check.parts if part.weight == most}
    lesser = {
        one.name: one.share
        for one in tried
        if one.kind == "mistake" and not one.problem and point.isdisjoint(one.caught_by)
    }
    for mistake in check.mistakes:
        for name, share in lesser.items():
            if share < mistake.keeps and name != mistake.name:
                much = f"keeps {mistake.keeps:.0%}, but {name!r} earns {share:.0%}"
                rule = f"although what weighs most holds there: let {mistake.name!r} keep less"
                yield f"{check.item}: {mistake.name!r} {much}, {rule}"


def _free_names(check: Check) -> Iterator[str]:
    """Names that a probe reads, but neither defines nor imports: it must stand alone."""
    for part in check.parts:
        code = compile(part.probe_source, "<probe>", "exec")
        known = {*vars(builtins), *(helper.__name__ for helper in part.helpers)}
        known |= {"ask"} if part.partner else set()
        for name in sorted(globals_read(code) - known):
            yield f"{check.item}: the probe of part {part.name!r} reads the global name {name}"


def _set_aside(
    mutants: Sequence[Trial], check: Check
) -> tuple[list[Trial], list[tuple[str, str, str]], list[str]]:
    """Take an item's listed mutants out of the count; complain of those that change behaviour."""
    kept, equivalent, stale = [], [], []
    waiting = dict(check.equivalent_mutants)
    for mutant in mutants:
        reason = waiting.pop(mutant.name, None)
        if reason is not None and mutant.share >= 1:
            equivalent.append((check.item, mutant.name, reason))
            continue
        kept.append(mutant)
        if reason is not None:
            stale.append(f"{check.item}: listed as equivalent, but caught: {mutant.name}")
    stale += [f"{check.item}: no such mutant is made: {change}" for change in waiting]
    return kept, equivalent, stale
