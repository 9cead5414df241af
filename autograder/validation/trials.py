"""Try the answers to one item of which it is known what they must earn.

Each is asked once for all draws, in a process of its own, and then judged draw by draw: what
follows from a draw alone, such as the answers of the reference, is found out once.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nbformat import NotebookNode

from autograder.authoring.answers import KnownAnswer
from autograder.authoring.checks import Check, Mistake
from autograder.authoring.notebooks import grading, is_autograded, is_ungraded_work
from autograder.authoring.release import Release
from autograder.authoring.statements import without_magics
from autograder.grading.diagnosis import LONGEST_CPU_SECONDS, is_telling
from autograder.grading.judge import ItemJudge
from autograder.records import CheckFault, GraderError, Observation, Verdict
from autograder.validation.plain_process import Answer, Observed, observe
from autograder.validation.unseen_answers import defined_by

Namespace = dict[str, Any]

_MEANINGLESS: dict[str, Any] = {
    "None": None,
    "0": 0,
    "1.0": 1.0,
    "an empty tuple": (),
    "an empty dict": {},
}
_DUE = {
    **dict.fromkeys(("solution", "reference", "alternative", "base"), "full points"),
    **dict.fromkeys(("stub", "meaningless"), "nothing"),
    "mistake": "fewer points",
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


@dataclass
class _Candidate:
    """An answer to try: what it is, how to make its namespace, and what has become of it so far.

    Attributes:
        mistake: that it is, if it is one.
        tells: whether it gives a wrong value, by which a mistake can be recognised.
    """

    kind: str
    name: str
    answer: Answer
    mistake: Mistake | None = None
    observed: Observed = field(init=False)
    verdicts: list[Verdict] = field(default_factory=list)
    tells: bool = False

    @property
    def is_endless(self) -> bool:
        """Whether it is declared not to end."""
        return self.mistake is not None and self.mistake.endless

    @property
    def misdeclared(self) -> str:
        """What is wrong with what it says of its end; then it is not judged."""
        if self.observed.killed:
            return f"stopped after {LONGEST_CPU_SECONDS} s of CPU: declare it endless or fix it"
        if self.is_endless and not self.observed.n_stopped:
            return "is declared endless, but it ends in every case"
        return ""

    def judge(self, judge: ItemJudge, check: Check, seed: int, seen: Sequence[Observation]) -> None:
        """Judge what it did in one draw."""
        verdict = judge.verdict(check, seed, seen)
        if verdict.fault:
            raise CheckFault(f"{verdict.item}: {verdict.fault}")
        self.verdicts.append(verdict)
        if self.mistake and not self.tells:
            wrong = [(one.value, judge.what_is_wrong(check, seed, one)) for one in seen]
            self.tells = is_telling(wrong)


def try_answers(
    judge: ItemJudge,
    check: Check,
    right: Sequence[KnownAnswer],
    release: Release,
    seeds: Sequence[int],
) -> list[Trial]:
    """Try every answer to an item that the notebook, the check and `right` know.

    Raises:
        GraderError: if the notebook lacks the item's test cell.
        CheckFault: if the check breaks.
    """
    tests = without_magics(cell_of(release.student, check.item).source)
    asked = [judge.requests(check, seed) for seed in seeds]
    judge.known_answers(check, seeds[0])  # what probes import for this, every process inherits
    requests = [request for draw in asked for request in draw]
    candidates = list(_candidates(check, right, release))
    for one in candidates:
        one.observed = observe(
            requests,
            one.answer,
            tests,
            endless=one.is_endless,
            cpu_seconds=LONGEST_CPU_SECONDS,
        )
    judged = _without(check, [one.mistake for one in candidates if one.observed.killed])
    start = 0
    for seed, draw in zip(seeds, asked, strict=True):
        end = start + len(draw)
        for one in candidates:
            if not one.misdeclared:
                one.judge(judge, judged, seed, one.observed.observations[start:end])
        start = end
    return [_trial(check, one) for one in candidates]


def _without(check: Check, endless: Sequence[Mistake | None]) -> Check:
    """Leave out mistakes that nothing can be compared with, since they do not end."""
    kept = tuple(mistake for mistake in check.mistakes if mistake not in endless)
    # What the judge knows hangs on the object: it stays the same unless it has to be another one.
    return check if kept == check.mistakes else dataclasses.replace(check, mistakes=kept)


def _candidates(
    check: Check, right: Sequence[KnownAnswer], release: Release
) -> Iterator[_Candidate]:
    solved = namespace_of(release.solution)

    def instead(implementation: Any) -> Answer:
        return lambda: {**solved(), check.target: implementation}

    yield _Candidate("solution", "the notebook's", solved)
    yield _Candidate("reference", "the package's", instead(check.reference))
    for answer in right:
        yield _Candidate("alternative", answer.name, partial(defined_by, answer, solved))
    for base in {mistake.changed_from for mistake in check.mistakes} - {None}:
        yield _Candidate("base", f"{base.__name__} of the mistakes", instead(base))
    yield _Candidate("stub", "the notebook's", namespace_of(release.student))
    for title, value in _MEANINGLESS.items():
        yield _Candidate("meaningless", title, instead(lambda *_, value=value, **__: value))
    for mistake in check.mistakes:
        yield _Candidate("mistake", mistake.name, instead(mistake.implementation), mistake)


def _trial(check: Check, one: _Candidate) -> Trial:
    """Say what the checks made of an answer, and what is wrong with them if it is not its due."""
    if one.misdeclared:
        stopped = one.observed.killed
        return Trial(check.item, one.kind, one.name, 0.0, stopped=stopped, problem=one.misdeclared)
    shares = [verdict.points / verdict.max_points for verdict in one.verdicts]
    named = sorted({" ".join(m.name for m in v.misconceptions) for v in one.verdicts})
    failed = [part for verdict in one.verdicts for part in verdict.parts if not part.passed]
    complaint, due, problem = one.observed.complaint, _DUE[one.kind], ""
    if due == "full points" and min(shares) < 1:
        problem = f"a right answer loses points: {failed[0].part}: {failed[0].message}"
    elif due == "full points" and complaint:
        problem = f"the visible tests fail: {complaint}"
    elif due == "nothing" and max(shares) > 0:
        problem = f"earns {max(shares):.0%} of the points for nothing"
    elif due == "nothing" and not complaint:
        problem = "the visible tests pass"
    elif due == "fewer points" and max(shares) >= 1:
        problem = "is not caught"
    elif due == "fewer points" and min(shares) != max(shares):
        problem = f"keeps {min(shares):.0%} or {max(shares):.0%} of the points, by the draw"
    elif due == "fewer points" and named != [one.name if one.tells else ""]:
        problem = f"is recognised as {' or '.join(map(repr, named))}"
    return Trial(
        check.item,
        one.kind,
        one.name,
        min(shares) if due == "full points" else max(shares),
        tuple(dict.fromkeys(part.part for part in failed)),
        recognised=" or ".join(named) if one.mistake else "",
        seen=bool(complaint),
        stopped=one.observed.n_stopped > 0,
        problem=problem,
    )


# -- the notebook ----------------------------------------------------------------------------------


def namespace_of(notebook: NotebookNode) -> Callable[[], Namespace]:
    """Return what runs the cells that are neither tests nor ungraded work, as grading does."""
    cells = [
        without_magics(cell.source)
        for cell in notebook.cells
        if cell.cell_type == "code" and not is_autograded(cell) and not is_ungraded_work(cell)
    ]

    def run() -> Namespace:
        namespace: Namespace = {"__name__": "__main__"}
        for source in cells:
            exec(compile(source, "<cell>", "exec"), namespace)
        return namespace

    return run


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """Return the cell of this name.

    Raises:
        GraderError: if there is none.
    """
    for cell in notebook.cells:
        if grading(cell).get("grade_id") == grade_id:
            assert isinstance(cell, NotebookNode)
            return cell
    raise GraderError(f"notebook.py has no cell {grade_id}, for which problem_set.py has a check")
