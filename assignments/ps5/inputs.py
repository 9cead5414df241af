"""Inputs, probes and judges that several items of problem set 5 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck. Every draw has the
same sizes, dtypes and hard cases for all students, and only its numbers are random: so the same
mistake costs everybody the same. Hard cases stand in parts of their own, and the part on side
effects looks at values on ordinary inputs only: one wrong value is paid for once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Inputs, Judge, Part
from autograder.authoring.compare import agree

# -- inputs ----------------------------------------------------------------------------------------

Generator = np.random.Generator
Draw = Callable[[Generator], Sequence[Case]]

NORMS = ("layer_norm", "native_layer_norm", "rms_norm", "group_norm", "batch_norm")
NORMS += ("instance_norm", "native_group_norm", "local_response_norm", "normalize")
"""What the tasks on norms ask to write out, by torch's names."""

ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward")


def normal(rng: Generator, dtype: str, *shape: int, scale: float = 1.0) -> Tensor:
    """Draw a tensor of normal numbers."""
    numbers = torch.from_numpy(np.asarray(scale * rng.standard_normal(shape)))
    return numbers.to(getattr(torch, dtype))


def tensor_case(
    label: str,
    dtype: str,
    arguments: Sequence[Any],
    *,
    forbidden: Sequence[str] = (),
    layout: str = "plain",
    ordinary: bool = True,
) -> Case:
    """Make a case of a function of tensors.

    Args:
        dtype: of the result.
        forbidden: torch's functions that the answer may not call.
        layout: how float tensors lie in memory: "plain", or "gaps", every other number of another
            tensor, with two axes swapped, so that `view` fails.
        ordinary: False for a hard case, on which a wrong value is not a side effect.
    """
    inputs = {
        "dtype": dtype,
        "arguments": list(arguments),
        "forbidden": list(forbidden),
        "layout": layout,
        "ordinary": ordinary,
    }
    note = ", a tensor with gaps in memory" if layout == "gaps" else ""
    return Case(f"{label}, {dtype}{note}", inputs)


def shape_text(shape: Sequence[int]) -> str:
    """Write a shape as labels have it."""
    return str(tuple(shape))


# -- probes ----------------------------------------------------------------------------------------


def call(implementation, inputs):
    """Return the result."""
    import torch

    used = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    def lay_out(argument):
        if isinstance(argument, dict):
            return {key: lay_out(value) for key, value in argument.items()}
        is_float = isinstance(argument, torch.Tensor) and argument.is_floating_point()
        if not is_float or inputs["layout"] == "plain":
            return argument
        axes = (0, min(1, argument.dim() - 1))
        swapped = argument.transpose(*axes)
        return torch.stack([swapped, torch.full_like(swapped, 7.0)], dim=-1)[..., 0].transpose(
            *axes
        )

    arguments = [lay_out(argument) for argument in inputs["arguments"]]
    with Watch():
        result = implementation(*arguments)
    forbidden = [name for name in used if name in inputs["forbidden"]]
    if forbidden:
        return forbidden[0]
    return result.detach() if isinstance(result, torch.Tensor) else result


def differentiate(implementation, inputs):
    """Return the gradient of a weighted sum of the result, for every float argument."""
    import torch

    leaves, used = [], []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    def prepare(argument):
        if isinstance(argument, dict):
            return {key: prepare(value) for key, value in argument.items()}
        if isinstance(argument, torch.Tensor) and argument.is_floating_point():
            leaves.append(argument.clone().requires_grad_())
            return leaves[-1]
        return argument

    arguments = [prepare(argument) for argument in inputs["arguments"]]
    with Watch():
        result = implementation(*arguments)
    forbidden = [name for name in used if name in inputs["forbidden"]]
    if forbidden:
        return forbidden[0]
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).view_as(result)
    total = (result * weights).sum()
    if not total.requires_grad:
        return "no gradient"
    return list(torch.autograd.grad(total, leaves, materialize_grads=True))


def call_elsewhere(implementation, inputs):
    """Call where torch makes tensors of another dtype; return what else may have changed too."""
    import torch

    before = torch.get_default_dtype()
    other = torch.float32 if inputs["dtype"] == "float64" else torch.float64
    arguments = inputs["arguments"]
    state = torch.get_rng_state()
    torch.set_default_dtype(other)
    try:
        result = implementation(*arguments)
    except Exception:
        if inputs["ordinary"]:
            raise
        result = None
    finally:
        kept = torch.get_default_dtype() == other and torch.is_grad_enabled()
        torch.set_default_dtype(before)
    untouched = torch.equal(state, torch.get_rng_state())
    return result, arguments, kept, untouched


def count_calls(implementation, inputs):
    """Return the result for a short input, and whether a long one takes many calls more."""
    import sys

    import torch

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    def count(arguments):
        n_calls = 0

        def see(frame, event, argument):
            nonlocal n_calls
            n_calls += event in ("call", "c_call")

        with Watch():  # so that an operation of torch is a call, too
            before = sys.getprofile()
            sys.setprofile(see)
            try:
                implementation(*arguments)
            finally:
                sys.setprofile(before)
        return n_calls

    def copied(argument):
        if isinstance(argument, dict):
            return dict(argument)
        return argument.clone() if isinstance(argument, torch.Tensor) else argument

    result = implementation(*map(copied, inputs["arguments"]))
    # The first call of all may import something.
    n_long, n_short = (
        count([*map(copied, inputs["long"])]),
        count([*map(copied, inputs["arguments"])]),
    )
    return result, n_long - n_short > inputs["n_more"] / 2


# -- judges and parts ------------------------------------------------------------------------------

# What float32 is sure of after sums of some dozens of terms in any order, and float64: a thousand
# times the rounding of one term, or more.
SINGLE = {"rtol": 1e-4, "atol": 1e-5}
DOUBLE = {"rtol": 1e-11, "atol": 1e-11}
HALF = {"rtol": 1e-2, "atol": 1e-2}


def judge_by(**tolerance: float) -> Judge:
    """Return a judge that knows what is forbidden and what it means to lose the gradient."""
    same = agree(**tolerance)

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is str and observed in inputs["forbidden"]:
            return f"it calls torch's own `{observed}`, which this task asks you to write out"
        if observed == "no gradient":
            return "no gradient reaches the arguments"
        return same(observed, expected, inputs)

    return judge


near = judge_by(**SINGLE)


def near_part(
    name: str, requirement: str, inputs: Draw, probe: Any, weight: float, judge: Judge = near
) -> Part:
    """Make a part that forgives rounding."""
    return Part(name, requirement, inputs, probe, judge=judge, weight=weight)


KEEPS = "The result has the arguments' dtype and accuracy, in any default dtype; no side effects."
FLOWS = "Gradients flow from the result to every argument, and are right."
COST = "A longer input takes no more calls: there is no loop over positions."


def keeps(
    inputs: Draw,
    weight: float = 1.0,
    *,
    double: dict[str, float] = DOUBLE,
    single: dict[str, float] = SINGLE,
    requirement: str = KEEPS,
    probe: Any = call_elsewhere,
) -> Part:
    """Make the part that does not forgive a change of dtype, nor of anything else.

    Args:
        double: tolerance for float64; `single` is that for float32.
    """
    judges = {
        "float64": agree(**double, exact_dtype=True),
        "float32": agree(**single, exact_dtype=True),
        "float16": agree(**HALF, exact_dtype=True),
        "bfloat16": agree(rtol=0.05, atol=0.1, exact_dtype=True),
    }
    unchanged = agree(rtol=0, atol=0, exact_dtype=True)

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is not tuple:
            return "there is no result"
        same = judges[inputs["dtype"]]
        (value, *others), (right, *others_right) = observed, expected
        wrong = same(value, right, inputs) if inputs["ordinary"] else _other_form(value, right)
        if wrong is None and unchanged(others, others_right, inputs) is not None:
            return "the call changes something else"
        return wrong

    return Part("nothing else changes", requirement, inputs, probe, judge=judge, weight=weight)


def _other_form(value: Any, right: Any) -> str | None:
    """Compare dtypes alone: what else is wrong in a hard case is the business of another part."""
    if isinstance(value, Tensor) and value.dtype != right.dtype:
        found, expected = (str(x.dtype).removeprefix("torch.") for x in (value, right))
        return f"the result is of dtype {found} where {expected} is expected"
    return None


def costs(inputs: Draw, weight: float, requirement: str = COST, judge: Judge = near) -> Part:
    """Make the part on cost: of an input that is longer by 400 positions, in calls."""

    def judge_cost(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is not tuple:
            return "there is no result"
        wrong = judge(observed[0], expected[0], inputs)
        if wrong is None and observed[1]:
            return f"{inputs['n_more']} positions more take at least half as many calls more"
        return wrong

    return Part("cost", requirement, inputs, count_calls, judge=judge_cost, weight=weight)


def cost_case(label: str, arguments: Sequence[Any], long: Sequence[Any], n_more: int) -> Case:
    """Make a case of `costs`: two inputs, of which one is longer."""
    return Case(
        label,
        {"arguments": list(arguments), "long": list(long), "n_more": n_more, "forbidden": []},
    )
