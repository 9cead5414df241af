"""Inputs, probes and judges that several items of problem set 4 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck; beside them stands one
case in which all sizes are equal, so that a wrong axis cannot show by an exception alone. The hard
cases are the same in every draw, and only the numbers in them are drawn: one mistake costs every
student the same.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Inputs, Judge, Part, nothing_else_changes
from autograder.authoring.compare import agree

Generator = np.random.Generator
Draw = Callable[[Generator], Sequence[Case]]

# -- inputs ----------------------------------------------------------------------------------------


def normal(rng: Generator, dtype: str, *shape: int, scale: float = 1.0) -> Tensor:
    """Draw a tensor of normal numbers."""
    numbers = torch.from_numpy(np.asarray(scale * rng.standard_normal(shape)))
    return numbers.to(getattr(torch, dtype))


def some_allowed(rng: Generator, *shape: int, share: float = 0.6) -> Tensor:
    """Draw a mask in whose every row a query may look at one place at least, and not at all.

    A row of a single place is allowed.
    """
    mask = torch.from_numpy(rng.random(shape) < share)
    n_keys = shape[-1]
    rows = mask.view(-1, n_keys)
    for number in range(len(rows)):
        first, second = rng.permutation(n_keys)[[0, -1]]
        rows[number, int(second)] = False
        rows[number, int(first)] = True
    return mask


def tensor_case(label: str, dtype: str, *arguments: Any, forbidden: Sequence[str] = ()) -> Case:
    """Make a case of a function of tensors."""
    inputs = {"dtype": dtype, "arguments": list(arguments), "forbidden": list(forbidden)}
    return Case(f"{label}, {dtype}", inputs)


# -- probes ----------------------------------------------------------------------------------------


def call(implementation, inputs):
    """Return the result, or the first function that it calls though the task forbids it."""
    import torch

    used = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    if not inputs["forbidden"]:
        return implementation(*inputs["arguments"])
    with Watch():
        result = implementation(*inputs["arguments"])
    forbidden = [name for name in used if name in inputs["forbidden"]]
    return forbidden[0] if forbidden else result


def call_any_layout(implementation, inputs):
    """Return the result for tensors whose numbers stand in memory in another order."""
    import torch

    def transposed(value):
        if isinstance(value, dict):
            return {key: transposed(part) for key, part in value.items()}
        if isinstance(value, torch.Tensor) and value.dim() > 1:
            return value.transpose(0, -1).contiguous().transpose(0, -1)
        return value

    return implementation(*[transposed(argument) for argument in inputs["arguments"]])


def differentiate(implementation, inputs):
    """Return the gradient of a weighted sum of the results, for every argument that has one."""
    import torch

    leaves = []

    def prepare(argument):
        if isinstance(argument, dict):
            return {key: prepare(value) for key, value in argument.items()}
        if isinstance(argument, torch.Tensor) and argument.is_floating_point():
            leaves.append(argument.clone().requires_grad_())
            return leaves[-1]
        return argument

    result = implementation(*[prepare(argument) for argument in inputs["arguments"]])
    parts = result if isinstance(result, tuple) else (result,)
    total = sum(
        (part * torch.linspace(0.5, 1.5, part.numel(), dtype=part.dtype).view_as(part)).sum()
        for part in parts
    )
    if not total.requires_grad:
        return "no gradient"
    return list(torch.autograd.grad(total, leaves, materialize_grads=True))


def call_elsewhere(implementation, inputs):
    """Return the result where torch makes tensors of another dtype by default."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if inputs["dtype"] == "float64" else torch.float64)
    try:
        return implementation(*inputs["arguments"])
    finally:
        torch.set_default_dtype(before)


def call_twice(implementation, inputs):
    """Return the result, whether a second call gives the same, and all else that may change."""
    import torch

    arguments = inputs["arguments"]
    state, dtype = torch.get_rng_state(), torch.get_default_dtype()
    result, again = implementation(*arguments), implementation(*arguments)
    kept = torch.get_default_dtype() == dtype and torch.is_grad_enabled()
    untouched = torch.equal(state, torch.get_rng_state())
    pairs = zip(result, again, strict=True) if isinstance(result, tuple) else [(result, again)]
    same = all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)
    return result, same, arguments, kept, untouched


# -- judges and parts ------------------------------------------------------------------------------

# What float32 is sure of after sums of some dozens of terms in any order, and float64: a thousand
# times the rounding of one term, or more.
_SINGLE = {"rtol": 1e-4, "atol": 1e-5}
_DOUBLE = {"rtol": 1e-10, "atol": 1e-11}
DTYPE = "The result has the arguments' dtype and accuracy, whatever torch's default dtype is."
KEEPS = "A call leaves arguments and torch's settings alone, and gives the same a second time."
FLOWS = "Gradients flow from the result to every argument, and are right."
LAYOUT = "Tensors may stand in memory in any order, as they do after a transpose."


def _judge(judges: dict[str, Judge]) -> Judge:
    """Return a judge for each dtype of the inputs; it knows what is forbidden."""

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is str and observed in inputs["forbidden"]:
            return f"it calls torch's own `{observed}`, which this task asks you to write out"
        if type(observed) is str and observed == "no gradient":
            return "no gradient reaches the arguments"
        return judges[inputs["dtype"]](observed, expected, inputs)

    return judge


near = _judge({"float32": agree(**_SINGLE), "float64": agree(**_SINGLE)})
exact = _judge(
    {"float32": agree(**_SINGLE, exact_dtype=True), "float64": agree(**_DOUBLE, exact_dtype=True)}
)


def near_part(name: str, requirement: str, inputs: Draw, probe: Any, weight: float) -> Part:
    """Make a part that forgives rounding."""
    return Part(name, requirement, inputs, probe, judge=near, weight=weight)


def any_layout(inputs: Draw, weight: float) -> Part:
    """Make the part that asks for tensors which are no contiguous block."""
    return Part("layout", LAYOUT, inputs, call_any_layout, judge=near, weight=weight)


def keeps(inputs: Draw) -> tuple[Part, Part]:
    """Make the part that does not forgive a change of dtype, and that for all else that changes."""
    dtype = Part("dtype", DTYPE, inputs, call_elsewhere, judge=exact, weight=0.5)
    return dtype, nothing_else_changes(KEEPS, inputs, call_twice, exact)
