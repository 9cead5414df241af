"""What items share whose answers are ids or lists: cases, probes, judges and parts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import (
    ARGUMENTS,
    SHARED,
    Case,
    Inputs,
    Judge,
    Part,
    nothing_else_changes,
)
from autograder.authoring.compare import agree

from .contracts import Contract
from .tensors import any_layout, call

Generator = np.random.Generator
Draw = Callable[[Generator], Sequence[Case]]

IGNORE = -100


# -- inputs ----------------------------------------------------------------------------------------


def case(label: str, *arguments: Any, take: int | None = None) -> Case:
    """Make a case of a function.

    Args:
        take: picks one of several results.
    """
    return Case(label, {"arguments": list(arguments), "layout": "plain", "take": take})


def taking(draw: Draw, take: int) -> Draw:
    """Make the same cases, in which one of several results is looked at."""
    return lambda rng: [Case(c.label, {**c.inputs, "take": take}) for c in draw(rng)]


def draw_ids(rng: Generator, shape: Sequence[int], ids: Sequence[int]) -> Tensor:
    """Draw a tensor of some ids."""
    return torch.from_numpy(rng.choice(np.array(ids, dtype=np.int64), tuple(shape)))


# -- probes ----------------------------------------------------------------------------------------


def call_for_dtypes(implementation, inputs):
    """Return the dtypes of the results, which stay the same whatever torch's default is."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        result = implementation(*inputs["arguments"])
    except Exception:
        return None  # whether there is a result is the business of other parts
    finally:
        torch.set_default_dtype(before)
    results = result if isinstance(result, tuple) else (result,)
    return [str(getattr(part, "dtype", "")) for part in results]


def call_twice(implementation, inputs):
    """Return the result, whether a second call and a second result leave it alone, and arguments.

    Those as the calls have left them, and as they are after somebody has written into the result.
    """
    import copy

    import torch

    arguments = inputs["arguments"]
    results, kept = [], []
    for _ in range(2):
        try:
            results.append(implementation(*arguments))
        except Exception:
            results.append(None)  # whether there is a result is the business of other parts
        kept.append(copy.deepcopy(results[-1]))
    kept.append(copy.deepcopy(results[0]))  # as the second call has left it

    def same(one, other):
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            return torch.equal(one, other)
        if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
            return len(one) == len(other) and all(map(same, one, other))
        return type(one) is type(other) and one == other

    is_same = same(kept[0], kept[1]) and same(kept[0], kept[2])
    left = copy.deepcopy(arguments)
    parts = results[0] if isinstance(results[0], tuple) else (results[0],)
    for number, part in enumerate(parts):
        if isinstance(part, torch.Tensor):
            part.fill_(number)  # the arguments, and the other result, must not feel it
        elif isinstance(part, list):
            part.append(None)  # also in a list that is empty
    apart = all(
        bool((part == number).all())
        for number, part in enumerate(parts)
        if isinstance(part, torch.Tensor) and part.dtype != torch.bool
    )
    return kept[0], is_same, apart, left, arguments


# -- judges and parts ------------------------------------------------------------------------------

KEEPS = "A call leaves its arguments alone, and gives new results, the same a second time."
SAYS = (
    "a second call gives something else, or changes the first result",
    "the two results share their memory",
    ARGUMENTS,
    SHARED,
)
DTYPES = [str(value) for value in vars(torch).values() if isinstance(value, torch.dtype)]
_exactly = agree(rtol=0, atol=0, exact_dtype=True)


def judge_dtypes(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Compare dtypes; what is no tensor, or one too many, is the business of other parts."""
    is_of_dtypes = isinstance(observed, list) and all(name in DTYPES for name in observed)
    if not is_of_dtypes or len(observed) != len(expected) or observed == expected:
        return None
    return f"the results are {observed} where {expected} are expected"


def part(
    name: str,
    requirement: str,
    inputs: Draw,
    weight: float,
    probe: Any = call,
    judge: Judge | None = None,
) -> Part:
    """Make a part on values."""
    return Part(name, requirement, inputs, probe, judge=judge or agree(), weight=weight)


def layout_part(inputs: Draw, weight: float, contract: Contract) -> Part:
    """Make the part on other forms of the same tensors."""
    return any_layout(inputs, weight, contract, agree())


def dtype_part(inputs: Draw) -> Part:
    """Make the part on dtypes."""
    return Part(
        "dtype",
        "Ids and targets are int64, masks are bool.",
        inputs,
        call_for_dtypes,
        judge=judge_dtypes,
        weight=0.5,
        earns_alone=False,
    )


def keeps(inputs: Draw) -> Part:
    """Make the part on side effects."""
    return nothing_else_changes(KEEPS, inputs, call_twice, _exactly, says=SAYS)
