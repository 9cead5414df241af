"""Try the mutants of a solution: each in a process of its own, up to the first case that tells.

A mutant that never ends is stopped by the number of its steps, counted against the solution's own
in the same case, so that what becomes of it is the same on every machine.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from autograder.authoring.checks import Check
from autograder.grading.diagnosis import LONGEST_CPU_SECONDS
from autograder.grading.judge import ItemJudge
from autograder.inside import wire
from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import failure_of
from autograder.records import CheckFault, Observation
from autograder.validation import step_limit
from autograder.validation.mutants import mutants
from autograder.validation.plain_process import (
    in_fork,
    observations,
    pack,
    probe_once,
    unpack,
)

# A mutant never ends if it takes so many times the steps of the solution, and so many more.
STEPS_FACTOR, STEPS_MORE = 20, 1_000


@dataclass(frozen=True)
class Fate:
    """What became of one version of a solution.

    Attributes:
        caught_by: the part whose case told it from the reference; empty if none did.
        stopped: whether it never ended.
        steps: that it took in each case, up to the one that told.
        fault: what broke in the checks themselves.
    """

    caught_by: tuple[str, ...] = ()
    stopped: bool = False
    steps: tuple[int, ...] = ()
    fault: str = ""

    @property
    def is_caught(self) -> bool:
        """Whether the mutant would lose points, be it by never ending."""
        return bool(self.caught_by) or self.stopped


def mutant_fates(
    judge: ItemJudge, check: Check, seed: int, solved: Callable[[], dict[str, Any]], source: str
) -> Iterator[tuple[str, Fate]]:
    """Yield each mutant's change and its fate.

    Args:
        judge: keeps what the reference answers to the draws of this seed.
        solved: makes the namespace of the solution's notebook.
        source: of the solution's cell, which is changed.

    Raises:
        CheckFault: if a check breaks.
    """
    judge.known_answers(check, seed)  # found out once, here, and inherited by every process
    own = _fate(judge, check, seed, solved, source, None)
    if len(own.steps) < len(judge.requests(check, seed)):
        raise CheckFault(f"{check.item}: the solution ends before it has answered every case")
    for mutant in mutants(source):
        yield mutant.change, _fate(judge, check, seed, solved, mutant.source, own.steps)


def _fate(
    judge: ItemJudge,
    check: Check,
    seed: int,
    solved: Callable[[], dict[str, Any]],
    source: str,
    own_steps: Sequence[int] | None,
) -> Fate:
    """Try one version.

    Args:
        own_steps: of the solution in each case; None if this is the solution.
    """

    def work(send: Callable[[bytes], None]) -> None:
        send(json.dumps(asdict(_try(judge, check, seed, solved(), source, own_steps))).encode())

    messages, killed = in_fork(work, LONGEST_CPU_SECONDS)
    if not messages:  # whatever ended the process would end a student's as well
        return Fate(("the process ended",), stopped=killed)
    told = json.loads(messages[0])
    fate = Fate(tuple(told["caught_by"]), told["stopped"], tuple(told["steps"]), told["fault"])
    if fate.fault:
        raise CheckFault(fate.fault)
    return fate


def _try(
    judge: ItemJudge,
    check: Check,
    seed: int,
    namespace: dict[str, Any],
    source: str,
    own_steps: Sequence[int] | None,
) -> Fate:
    steps: list[int] = []
    requests = judge.requests(check, seed)
    for request, (value, n) in _answers(requests, namespace, source, own_steps):
        if _never_ended(value):
            return Fate(stopped=True, steps=tuple(steps))
        steps.append(n)
        seen = Observation(request.item, request.part, request.case, value)
        try:
            wrong = judge.what_is_wrong(check, seed, seen)
        except CheckFault as fault:
            return Fate(fault=str(fault))
        if wrong is not None and own_steps is not None:
            return Fate((request.part,), steps=tuple(steps))
    return Fate(steps=tuple(steps))


def observe_counted(
    requests: Sequence[ProbeRequest],
    namespace: Callable[[], dict[str, Any]],
    source: str,
    own_steps: Sequence[int] | None,
) -> tuple[tuple[Observation, ...], tuple[int, ...]]:
    """Ask a version every request, in a process of its own.

    Args:
        own_steps: of the solution in each case; None if this is the solution.

    Returns:
        What it answers, a "timeout" where it never ends, and the steps that it took in each case.
    """

    def work(send: Callable[[bytes], None]) -> None:
        steps = []
        for _, (value, n) in _answers(requests, namespace(), source, own_steps):
            send(pack(value))
            steps.append(n)
        send(pack(steps))

    messages, _ = in_fork(work, LONGEST_CPU_SECONDS)
    values = [unpack(message) for message in messages]
    *values, steps = values if len(values) > len(requests) else [*values, []]
    values += [Failure("crash", "the process ended")] * (len(requests) - len(values))
    return observations(requests, values), tuple(steps)


def _answers(
    requests: Sequence[ProbeRequest],
    namespace: dict[str, Any],
    source: str,
    own_steps: Sequence[int] | None,
) -> Iterator[tuple[ProbeRequest, tuple[Any, int]]]:
    """Yield each request, its answer and the steps that it took.

    After a case that never ends, the later ones of its part are not asked, as in grading.
    """
    count = step_limit.StepCounter()
    limits = [sys.maxsize] * len(requests)
    if own_steps is not None:
        limits = [STEPS_MORE + STEPS_FACTOR * steps for steps in own_steps]
    namespace[step_limit.NAME] = count
    count.start(STEPS_MORE)
    broken = None
    try:
        exec(step_limit.compile_counted(source), namespace)
    except BaseException as error:
        broken = failure_of(error)
    endless = Failure("timeout", "it takes too many steps")
    if count.is_over:
        broken = endless
    ended: set[str] = set()  # parts
    for request, limit in zip(requests, limits, strict=True):
        if request.part in ended:
            yield request, (endless, 0)
            continue
        count.start(limit)
        value = broken or _as_sent(probe_once(request, namespace))
        if count.is_over or value is endless:
            ended.add(request.part)
            value = endless
        yield request, (value, count.steps)


def _never_ended(value: Any) -> bool:
    return isinstance(value, Failure) and value.kind == "timeout"


def _as_sent(value: Any) -> Any:
    """Return what would arrive of a value on the other side of the wall."""
    if isinstance(value, Failure):
        return value
    try:
        return wire.normal_form(value)
    except WireError as error:
        return failure_of(error)
