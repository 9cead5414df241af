"""Inputs, probes, judges and parts of items whose answers are functions of tensors.

The hard cases are the same in every draw, and only the numbers in them are drawn: one mistake costs
every student the same. A part on values forgives whatever float32 cannot promise; dtype and
accuracy have a part of their own, and so has all that a call may change besides its result.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import (
    ARGUMENTS,
    Case,
    Inputs,
    Judge,
    Part,
    nothing_else_changes,
)
from autograder.authoring.compare import ORDINALS, agree

from .contracts import LAYOUTS, Contract

Generator = np.random.Generator
Draw = Callable[[Generator], Sequence[Case]]

# -- inputs ----------------------------------------------------------------------------------------


def normal(rng: Generator, dtype: str, *shape: int, scale: float = 1.0) -> Tensor:
    """Draw a tensor of normal numbers."""
    numbers = torch.from_numpy(np.asarray(scale * rng.standard_normal(shape)))
    return numbers.to(getattr(torch, dtype))


def tensor_case(
    label: str,
    dtype: str,
    *arguments: Any,
    layout: str = "plain",
    take: int | None = None,
) -> Case:
    """Make a case of a function of tensors.

    Args:
        dtype: of the result.
        layout: how tensors lie in memory: "plain"; "gaps", every other number of another tensor,
            not from its start, with two axes swapped; "turned", with the axes in reverse order.
            In both `view` may fail, and a dict is in another order. In "shared", which a contract
            makes, all rows are one.
        take: picks one of several results.
    """
    inputs = {
        "dtype": dtype,
        "arguments": list(arguments),
        "layout": layout,
        "take": take,
    }
    note = f", {LAYOUTS[layout]}" if layout in LAYOUTS else ""
    return Case(f"{label}, {dtype}{note}", inputs)


def cost_case(label: str, arguments: Sequence[Any], long: Sequence[Any], n_more: int) -> Case:
    """Make a case for a rule against loops: two inputs, one longer by `n_more` positions."""
    inputs = {"arguments": list(arguments), "long": list(long), "n_more": n_more}
    return Case(label, inputs)


# -- probes ----------------------------------------------------------------------------------------


def call(implementation, inputs):
    """Return the result."""
    import torch

    layout = inputs["layout"]

    def lay_out(argument, shared=None):
        if isinstance(argument, dict):
            return {key: lay_out(argument[key]) for key in reversed(argument)}
        if isinstance(argument, tuple):
            return tuple(lay_out(part, shared) for part in argument)
        if not isinstance(argument, torch.Tensor) or argument.dim() == 0:
            return argument
        if layout == "shared":
            if shared is None or not argument.shape[shared]:
                return argument
            return argument.narrow(shared, 0, 1).expand(argument.shape)
        if layout == "turned":
            axes = list(range(argument.dim()))[::-1]
            return argument.permute(axes).contiguous().permute(axes)
        swapped = argument.transpose(0, min(1, argument.dim() - 1))
        gaps = torch.stack([torch.full_like(swapped, 7), swapped], dim=-1)[..., 1]
        return gaps.transpose(0, min(1, argument.dim() - 1))

    arguments = inputs["arguments"]
    if layout != "plain":
        shared = inputs.get("shared", [None] * len(arguments))
        arguments = list(map(lay_out, arguments, shared))
    try:
        result = implementation(*arguments)
    except RuntimeError as error:
        if "single memory location" not in str(error):
            raise
        # Who writes into an argument loses another part: here rows have memory of their own again.
        layout = "turned"
        result = implementation(*map(lay_out, arguments))
    if inputs["take"] is not None:
        return result[inputs["take"]]
    return tuple(result) if isinstance(result, tuple) else result  # a named one is right too


def differentiate(implementation, inputs):
    """Return the gradient of a weighted sum of the results, for every argument that has one."""
    import torch

    leaves = []

    def prepare(argument):
        if isinstance(argument, dict):
            return {key: prepare(value) for key, value in argument.items()}
        if isinstance(argument, tuple):
            return tuple(map(prepare, argument))
        if isinstance(argument, torch.Tensor) and argument.is_floating_point():
            leaves.append(argument.clone().requires_grad_())
            return leaves[-1]
        return argument

    result = implementation(*map(prepare, inputs["arguments"]))
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
    torch.set_default_dtype(getattr(torch, inputs["default"]))
    try:
        result = implementation(*inputs["arguments"])
    except Exception:
        if "hard" not in inputs:
            raise
        return None  # what is wrong in a hard case is the business of another part
    finally:
        torch.set_default_dtype(before)
    return tuple(result) if isinstance(result, tuple) else result


def call_twice(implementation, inputs):
    """Return the result, whether a second call gives the same, and all else that may change."""
    import torch

    arguments = inputs["arguments"]

    def ask():
        try:
            result = implementation(*arguments)
        except Exception:
            return None  # whether there is a result is the business of other parts
        return tuple(result) if isinstance(result, tuple) else result

    def numbers(result):
        parts = result if isinstance(result, tuple) else (result,)
        return [p.detach().clone().nan_to_num() for p in parts if isinstance(p, torch.Tensor)]

    result = ask()
    at_first, again, afterwards = numbers(result), numbers(ask()), numbers(result)
    same = all(
        a.equal(b) and a.equal(c) for a, b, c in zip(at_first, again, afterwards, strict=True)
    )
    return result, same, arguments


def look_at_sizes(implementation, inputs):
    """Return whether no tensor is made that is as large as `too_large`; a view of one is none."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    given = {p.untyped_storage().data_ptr() for p in inputs["arguments"] if hasattr(p, "dim")}
    sizes = [0]

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            for part in result if isinstance(result, (tuple, list)) else (result,):
                is_tensor = isinstance(part, torch.Tensor)
                if is_tensor and part.untyped_storage().data_ptr() not in given:
                    sizes.append(part.numel())
            return result

    try:
        with Watch():
            implementation(*inputs["arguments"])
    except Exception:
        return True  # whether there is a result is the business of other parts
    return max(sizes) < inputs["too_large"]


# -- judges and parts ------------------------------------------------------------------------------

# What float32 is sure of after sums of some dozens of terms in any order, and float64: a thousand
# times the rounding of one term, or more.
SINGLE = {"rtol": 1e-4, "atol": 1e-5}
DOUBLE = {"rtol": 1e-10, "atol": 1e-11}
HALF = {"rtol": 1e-2, "atol": 1e-2}

DTYPE = "The result has the arguments' dtype and accuracy, whatever torch's default dtype is."
KEEPS = "A call leaves arguments and torch's settings alone, and gives the same a second time."
SAYS = (
    "a second call gives something else, or changes the first result",
    ARGUMENTS,
    "a function is called otherwise than the task says, or what it returns is changed",
)
FLOWS = "Gradients flow from the result to every argument, and are right."


def judge_by(**tolerance: float) -> Judge:
    """Return a judge that knows what it means to lose the gradient."""
    same = agree(**tolerance)

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is str and observed == "no gradient":
            return "no gradient reaches the arguments"
        return same(observed, expected, inputs)

    return judge


def by_argument(judge: Judge) -> Judge:
    """Return a judge of what `differentiate` gives that says which argument's gradient is wrong."""

    def judge_each(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        wrong = judge(observed, expected, inputs)
        arguments = [n for n, one in enumerate(inputs["arguments"]) for _ in _leaves(one)]
        if wrong is None or type(observed) is not list or len(observed) != len(arguments):
            return wrong
        for ours, theirs, number in zip(observed, expected, arguments, strict=True):
            if judge([ours], [theirs], inputs) is not None:
                is_none = isinstance(ours, Tensor) and not ours.any()
                rest = "gets no gradient" if is_none else "gets another gradient"
                return f"the {ORDINALS[number]} argument {rest}"
        return wrong

    return judge_each


def _leaves(argument: Any) -> list[Tensor]:
    """List the tensors of an argument that `differentiate` asks a gradient of."""
    if isinstance(argument, dict):
        argument = tuple(argument.values())
    if isinstance(argument, tuple):
        return [leaf for part in argument for leaf in _leaves(part)]
    is_leaf = isinstance(argument, Tensor) and argument.is_floating_point()
    return [argument] if is_leaf else []


near = judge_by(**SINGLE)


def near_part(
    name: str,
    requirement: str,
    inputs: Draw,
    probe: Any,
    weight: float,
    judge: Judge = near,
    helpers: tuple[Any, ...] = (),
) -> Part:
    """Make a part that forgives rounding."""
    judge = by_argument(judge) if probe is differentiate else judge
    return Part(name, requirement, inputs, probe, judge=judge, weight=weight, helpers=helpers)


def any_layout(inputs: Draw, weight: float, contract: Contract, judge: Judge = near) -> Part:
    """Make the part that asks for the same in other forms: in memory, of more axes, of none."""
    draw = contract.forms(inputs)
    return near_part("layout", contract.requirement, draw, call, weight, judge)


def sizes_part(
    requirement: str,
    inputs: Draw,
    too_large: Callable[[Sequence[Any]], int],
    says: str,
    weight: float = 1.5,
) -> Part:
    """Make the part that asks for small tensors.

    Args:
        too_large: how many numbers are too many in a tensor, given the arguments.
        says: what is wrong where one is made.
    """

    def draw(rng: Generator) -> list[Case]:
        return [
            Case(case.label, {**case.inputs, "too_large": too_large(case.inputs["arguments"])})
            for case in inputs(rng)
        ]

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        return says if observed is False else None

    return Part(
        "sizes", requirement, draw, look_at_sizes, judge=judge, weight=weight, earns_alone=False
    )


def exactly(double: dict[str, float] = DOUBLE, single: dict[str, float] = SINGLE) -> Judge:
    """Return a judge of dtype and accuracy; in a hard case, of dtype alone."""
    judges = {
        "float64": agree(**double, exact_dtype=True),
        "float32": agree(**single, exact_dtype=True),
        "float16": agree(**HALF, exact_dtype=True),
        "bfloat16": agree(rtol=0.05, atol=0.1, exact_dtype=True),
    }

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if "hard" not in inputs:
            return judges[inputs["dtype"]](observed, expected, inputs)
        if isinstance(observed, Tensor) and observed.dtype != expected.dtype:
            found, right = (str(x.dtype).removeprefix("torch.") for x in (observed, expected))
            return f"the result is of dtype {found} where {right} is expected"
        return None

    return judge


def elsewhere(draw: Draw, narrow: str = "bfloat16") -> Draw:
    """Make the same cases under another default dtype: float32, or `narrow` for what is float32.

    The label says so: else nobody could do it again.
    """

    def draw_elsewhere(rng: Generator) -> list[Case]:
        cases = []
        for case in draw(rng):
            default = "float32" if case.inputs["dtype"] == "float64" else narrow
            label = f"{case.label}, where torch's default dtype is {default}"
            cases.append(Case(label, {**case.inputs, "default": default}))
        return cases

    return draw_elsewhere


def keeps(
    ordinary: Draw,
    hard: Draw | None = None,
    *,
    weight: float = 0.5,
    double: dict[str, float] = DOUBLE,
    single: dict[str, float] = SINGLE,
    requirement: str = DTYPE,
    probes: tuple[Any, Any] = (call_elsewhere, call_twice),
    narrow: str = "bfloat16",
    helpers: tuple[Any, ...] = (),
) -> tuple[Part, Part]:
    """Make the part that does not forgive a change of dtype, and that for all else that changes.

    Args:
        ordinary: draws the cases in which a wrong value is a wrong accuracy.
        hard: draws others, in which the dtype alone is looked at.
        weight: of the first part.
        double: tolerance for float64; `single` is that for float32.
        requirement: of the first part.
        probes: of both parts.
        narrow: torch's default dtype in float32's cases of the first part.
        helpers: what both probes call.
    """

    def draw(rng: Generator) -> list[Case]:
        others = hard(rng) if hard else ()
        marked = [Case(case.label, {**case.inputs, "hard": True}) for case in others]
        return [*ordinary(rng), *marked]

    unchanged = agree(rtol=0, atol=0, exact_dtype=True)
    dtype = Part(
        "dtype",
        requirement,
        elsewhere(draw, narrow),
        probes[0],
        judge=exactly(double, single),
        weight=weight,
        helpers=helpers,
    )
    return dtype, nothing_else_changes(KEEPS, draw, probes[1], unchanged, helpers, says=SAYS)
