"""Try a set's checks on answers that their author has not seen: the catalogue cannot grade itself.

    mutant of two changes     two operators of the solution at once
    two mistakes at once      of the catalogue, where both changes fit into one answer
    another item's            its mistakes and its reference, where the signatures fit
    wrong                     as somebody wrote it, in the file of the item's answers

All but the last are far too many, so a sample is drawn from them, the same each time. A diagnosis
that one of them is given is put to the proof on fresh draws: it is untrue where the mistake that it
names behaves otherwise than the answer.
"""

import ast
import inspect
import itertools
import random
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from autograder.authoring.answers import KnownAnswer
from autograder.authoring.checks import Check, both
from autograder.grading.judge import ItemJudge
from autograder.inside.messages import ProbeRequest
from autograder.records import CheckFault, Observation, Verdict
from autograder.validation.mutant_fates import observe_counted
from autograder.validation.mutants import mutants
from autograder.validation.plain_process import observe, observe_each

MUTANT, TWO_CHANGES, TWO_MISTAKES = "mutant", "mutant of two changes", "two mistakes at once"
ANOTHER_ITEMS, WRITTEN = "another item's", "wrong answer"
MOST = 30
"""Of each kind, for each item; written ones are all tried."""
FRESH_SEEDS = (1001, 1002)

Namespace = dict[str, Any]
Ask = Callable[[Sequence[ProbeRequest]], Sequence[Observation]]


@dataclass(frozen=True)
class Unseen:
    """One answer, and what the checks made of it.

    Attributes:
        kind: one of the above.
        share: of the item's points that it earned.
        failed: the parts that did not hold, with what the student would read.
        named: the mistake that it was told to be; empty if none.
        untrue: whether that mistake behaves otherwise on fresh draws.
    """

    item: str
    kind: str
    name: str
    share: float
    failed: tuple[tuple[str, str], ...]
    named: str
    untrue: bool

    @property
    def problem(self) -> str:
        """What is wrong with the checks; empty if they did well.

        Changes made by machine may cancel each other out, so a right answer may come of them.
        """
        if self.untrue:
            return f"is said to be {self.named!r}, which it is not"
        if self.kind == WRITTEN and self.share >= 1:
            return "is not caught"
        return ""


def try_unseen(
    check: Check,
    others: Sequence[Check],
    seed: int,
    solved: Callable[[], Namespace],
    source: str,
) -> Iterator[Unseen]:
    """Try what can be made of the catalogue for one item.

    Args:
        others: the checks of the set's other items.
        solved: makes the namespace of the solution's notebook.
        source: of the solution's cell.

    Raises:
        CheckFault: if a check breaks.
    """
    judge, fresh = ItemJudge(), ItemJudge()
    for kind, name, ask in itertools.chain(
        _mutants(check, solved, source), _pairs(check), _transplants(check, others, solved)
    ):
        verdict = _verdict(judge, check, seed, ask(judge.requests(check, seed)))
        untrue = bool(verdict.misconception) and any(
            _contradicted(fresh, check, other, ask(fresh.requests(check, other)), verdict)
            for other in FRESH_SEEDS
        )
        yield _unseen(kind, name, verdict, untrue)


def try_written(
    check: Check,
    answers: Iterable[KnownAnswer],
    seed: int,
    solved: Callable[[], Namespace],
) -> Iterator[Unseen]:
    """Try wrong answers that somebody wrote.

    Args:
        solved: makes the namespace of the solution's notebook.

    Raises:
        CheckFault: if a check breaks.
    """
    judge, fresh = ItemJudge(), ItemJudge()

    def asked(
        answers: Iterable[KnownAnswer], judge: ItemJudge, seed: int
    ) -> Iterator[tuple[KnownAnswer, Sequence[Observation]]]:
        answers = list(answers)
        made = (partial(defined_by, answer, solved) for answer in answers)
        observed = observe_each(judge.requests(check, seed), made, endless=True)
        for answer, seen in zip(answers, observed, strict=True):
            yield answer, seen.observations

    verdicts = {
        answer: _verdict(judge, check, seed, seen) for answer, seen in asked(answers, judge, seed)
    }
    named = [answer for answer, verdict in verdicts.items() if verdict.misconception]
    untrue = {
        answer
        for other in FRESH_SEEDS
        for answer, seen in asked(named, fresh, other)
        if _contradicted(fresh, check, other, seen, verdicts[answer])
    }
    for answer, verdict in verdicts.items():
        yield _unseen(WRITTEN, answer.name, verdict, answer in untrue)


def _verdict(judge: ItemJudge, check: Check, seed: int, seen: Sequence[Observation]) -> Verdict:
    verdict = judge.verdict(check, seed, seen)
    if verdict.fault:
        raise CheckFault(f"{check.item}: {verdict.fault}")
    return verdict


def _contradicted(
    judge: ItemJudge, check: Check, seed: int, seen: Sequence[Observation], verdict: Verdict
) -> bool:
    """Whether the mistake that the verdict names behaves otherwise on the draws of this seed."""
    names = (mistake.name for mistake in verdict.misconceptions)
    return not judge.explains(check, seed, seen, *names)


def _unseen(kind: str, name: str, verdict: Verdict, untrue: bool) -> Unseen:
    failed = tuple((part.part, part.message) for part in verdict.parts if not part.passed)
    named = " ".join(mistake.name for mistake in verdict.misconceptions)
    share = verdict.points / verdict.max_points
    return Unseen(verdict.item, kind, name, share, failed, named, untrue)


def _sample(check: Check, kind: str, things: Sequence[Any]) -> list[Any]:
    if len(things) <= MOST:
        return list(things)
    return random.Random(f"{check.item}/{kind}").sample(list(things), MOST)


# -- kinds of answers: each yields its kind, its name, and what asks it ----------------------------


def _counted(namespace: Callable[[], Namespace], solution: str) -> Callable[[str], Ask]:
    """Return what makes versions of a solution that can be asked, by counting steps."""
    known: dict[tuple[int, str], tuple[int, ...]] = {}

    def version(source: str) -> Ask:
        def ask(requests: Sequence[ProbeRequest]) -> Sequence[Observation]:
            draw = id(requests[0].inputs), requests[0].part  # kept as long as the judge keeps it
            if draw not in known:
                known[draw] = observe_counted(requests, namespace, solution, None)[1]
            return observe_counted(requests, namespace, source, known[draw])[0]

        return ask

    return version


def _mutants(
    check: Check, solved: Callable[[], Namespace], source: str
) -> Iterator[tuple[str, str, Ask]]:
    version, same = _counted(solved, source), check.equivalent_mutants
    first = [mutant for mutant in mutants(source) if mutant.change not in same]
    for mutant in _sample(check, MUTANT, first):
        yield MUTANT, mutant.change, version(mutant.source)
    draw, alone = random.Random(f"{check.item}/{TWO_CHANGES}"), {one.change for one in first}
    known = {ast.unparse(ast.parse(source)), *(mutant.source for mutant in mutants(source))}
    for one in draw.choices(first, k=MOST):
        fitting = [
            mutant
            for mutant in mutants(one.source)
            if mutant.source not in known and mutant.change not in same
        ]
        # Two changes of one place often cancel each other out.
        if fitting := [two for two in fitting if two.change in alone] or fitting:
            two = draw.choice(fitting)
            known.add(two.source)
            yield TWO_CHANGES, f"{one.change}; {two.change}", version(two.source)


def _pairs(check: Check) -> Iterator[tuple[str, str, Ask]]:
    fitting = [
        (one, two, inspect.getsource(answer))
        for one, two in itertools.combinations(check.mistakes, 2)
        if (answer := both(one, two)) is not None
    ]
    versions: dict[Callable[..., Any], Callable[[str], Ask]] = {}
    for one, two, source in _sample(check, TWO_MISTAKES, fitting):
        base = one.changed_from
        rename = f"\n{check.target} = {base.__name__}\n"
        right = textwrap.dedent(inspect.getsource(base)) + rename
        versions.setdefault(base, _counted(partial(dict, base.__globals__), right))
        yield TWO_MISTAKES, f"{one.name} {two.name}", versions[base](source + rename)


def _transplants(
    check: Check, others: Sequence[Check], solved: Callable[[], Namespace]
) -> Iterator[tuple[str, str, Ask]]:
    shape = _parameters(solved()[check.target])
    fitting = [
        (f"{other.target}: {name}", implementation)
        for other in others
        for name, implementation in (
            ("the reference", other.reference),
            *((mistake.name, mistake.implementation) for mistake in other.mistakes),
        )
        if _parameters(implementation) == shape
    ]
    for name, implementation in _sample(check, ANOTHER_ITEMS, fitting):
        namespace = partial(_with, solved, {check.target: implementation})
        yield ANOTHER_ITEMS, name, _bounded(namespace)


def _bounded(namespace: Callable[[], Namespace]) -> Ask:
    """Return what asks an answer whose steps cannot be counted."""
    return lambda requests: observe(requests, namespace, endless=True).observations


def _with(solved: Callable[[], Namespace], more: Namespace) -> Namespace:
    return {**solved(), **more}


def defined_by(answer: KnownAnswer, solved: Callable[[], Namespace]) -> Namespace:
    """Run it as the student's cell, among the solutions of the other items."""
    return answer.run_in(solved())


def _parameters(implementation: Callable[..., Any]) -> tuple[int, frozenset[str]]:
    """Return how many parameters a function has by position, and which by name alone."""
    parameters = inspect.signature(implementation).parameters.values()
    by_name = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    return len(parameters) - len(by_name), by_name
