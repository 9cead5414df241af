"""What several items of problem set 6 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck. Hard cases stand in
parts of their own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Inputs, Part, nothing_else_changes
from autograder.authoring.compare import agree

from ..tensors import KEEPS, SAYS, Draw, Generator, call_elsewhere, call_twice, elsewhere

# -- inputs ----------------------------------------------------------------------------------------

LARGE = 2**24 + 1
"""An id that float32 would round."""


def shape_text(shape: Sequence[int]) -> str:
    """Write a shape as labels have it."""
    return str(tuple(shape))


def whole(rng: Generator, n: int, *shape: int) -> Tensor:
    """Draw ids below `n`, of which one is 0 and one is the largest, if there is room for both."""
    ids = torch.from_numpy(np.asarray(rng.integers(0, n, shape)))
    ends = torch.tensor([0, n - 1])[: ids.numel()]
    ids.view(-1)[rng.permutation(ids.numel())[: len(ends)].tolist()] = ends
    return ids


def shuffled(rng: Generator, numbers: Sequence[float], dtype: str = "float64") -> Tensor:
    """Put numbers in an order that is drawn."""
    return torch.tensor(rng.permutation(numbers).tolist(), dtype=getattr(torch, dtype))


# -- probes ----------------------------------------------------------------------------------------


def share_memory(implementation, inputs):
    """Return whether a result lies where an argument lies."""
    import torch

    try:
        result = implementation(*inputs["arguments"])
    except Exception:
        return False  # whether there is a result is the business of other parts

    def places(values):
        tensors = [x for x in values if isinstance(x, torch.Tensor) and x.numel()]
        return {x.untyped_storage().data_ptr() for x in tensors}

    results = result if isinstance(result, (tuple, list)) else (result,)
    return not places(results).isdisjoint(places(inputs["arguments"]))


# -- judges and parts ------------------------------------------------------------------------------

exact = agree(rtol=0, atol=0)


def _judge_memory(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    return None if observed is False else "the result lies in the memory of an argument"


def new_tensor(draw: Draw) -> Part:
    """Make the part that asks for a result which shares no memory with an argument."""
    return Part(
        "new tensor",
        "The result is new: who writes into it changes no argument.",
        draw,
        share_memory,
        judge=_judge_memory,
        weight=0.5,
        earns_alone=False,
    )


def _judge_dtypes(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    pairs = (x if isinstance(x, tuple) else (x,) for x in (observed, expected))
    for ours, right in zip(*pairs, strict=False):
        if not isinstance(ours, Tensor):
            continue  # whether there is a result is the business of other parts
        if ours.dtype != right.dtype:
            found, due = (str(x.dtype).removeprefix("torch.") for x in (ours, right))
            return f"the result is of dtype {found} where {due} is expected"
    return None


def keeps_ids(draw: Draw) -> tuple[Part, Part]:
    """Make the parts on dtype and on all else that changes, where the results are ids."""

    def hard(rng: Generator) -> list[Case]:
        return [Case(case.label, {**case.inputs, "hard": True}) for case in draw(rng)]

    requirement = "The result is int64, whatever torch's default dtype is."
    dtype = Part(
        "dtype",
        requirement,
        elsewhere(hard),
        call_elsewhere,
        judge=_judge_dtypes,
        weight=0.5,
        earns_alone=False,
    )
    unchanged = agree(rtol=0, atol=0, exact_dtype=True)
    return dtype, nothing_else_changes(KEEPS, hard, call_twice, unchanged, says=SAYS)
