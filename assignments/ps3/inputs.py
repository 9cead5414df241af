"""Inputs, probes and judges that several items of problem set 3 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck; half of the cases are
in float32, half in float64. Ids are drawn, so that the id after a place is not one more than it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from autograder.authoring.checks import (
    Case,
    Inputs,
    Judge,
    Part,
    counted,
)
from autograder.authoring.compare import agree
from course_pkg.layers.recurrent import Cell, State
from course_pkg.models import IGNORE
from course_pkg.training import objectives

# -- inputs ----------------------------------------------------------------------------------------

Generator = np.random.Generator


LOSSES = ("cross_entropy", "nll_loss", "log_softmax", "logsumexp", "autograd")
LOSSES += ("special_log_softmax", "special_logsumexp")


CELLS = ("rnn_tanh_cell", "rnn_tanh", "lstm_cell", "lstm")
"""What the tasks on the loss and on the cells ask to write out, by torch's names."""


def normal(rng: Generator, dtype: str, *shape: int, scale: float = 1.0) -> Tensor:
    """Draw a tensor of normal numbers."""
    numbers = torch.from_numpy(np.asarray(scale * rng.standard_normal(shape)))
    return numbers.to(getattr(torch, dtype))


def whole(rng: Generator, n: int, *shape: int) -> Tensor:
    """Draw ids below `n`."""
    return torch.from_numpy(np.asarray(rng.integers(0, n, shape)))


def tensor_case(
    size: str,
    dtype: str,
    arguments: Sequence[Any],
    forbidden: Sequence[str] = (),
    take: int | None = None,
) -> Case:
    """Make a case of a function of tensors; `take` picks one of several results."""
    inputs = {
        "dtype": dtype,
        "arguments": list(arguments),
        "forbidden": list(forbidden),
        "take": take,
    }
    return Case(f"{size}, {dtype}", inputs)


def _loss_case(
    rng: Generator, logits: Tensor, targets: Tensor, ignore_index: int, what: str = ""
) -> Case:
    n_rows, vocab_size = logits.shape
    dtype = str(logits.dtype).removeprefix("torch.")
    size = f"{counted(n_rows, 'row')} of {counted(vocab_size, 'logit')}{what}"
    return tensor_case(size, dtype, [logits, targets, ignore_index], LOSSES)


def draw_losses(rng: Generator) -> list[Case]:
    """Ordinary logits, and a target in every row."""
    return [
        _loss_case(rng, normal(rng, dtype, n, v, scale=2.0), whole(rng, v, n), -100)
        for n, v, dtype in [
            (1, 2, "float64"),
            (3, 5, "float32"),
            (7, 4, "float64"),
            (6, 6, "float64"),
            (2, 13, "float32"),
        ]
    ]


def draw_ignored(rng: Generator) -> list[Case]:
    """Some rows without a target; the index that says so may be an id too, or all there is."""
    cases = []
    for n, v, ignore_index, n_ignored, dtype in [
        (3, 4, -100, 1, "float64"),
        (8, 5, -100, 5, "float32"),
        (9, 7, 0, 4, "float64"),
        (7, 5, 4, 3, "float64"),
        (4, 3, -1, 4, "float32"),
    ]:
        others = [i for i in range(v) if i != ignore_index]
        targets = torch.tensor([others[place] for place in whole(rng, len(others), n).tolist()])
        targets[rng.permutation(n)[:n_ignored].tolist()] = ignore_index
        what = f", {n_ignored} of them with the target {ignore_index}, which is ignored"
        logits = normal(rng, dtype, n, v, scale=2.0)
        cases.append(_loss_case(rng, logits, targets, ignore_index, what))
    return cases


def draw_extremes(rng: Generator) -> list[Case]:
    """Logits whose exponentials are too large, or too small, for their dtype."""
    cases = []
    for n, v, shift, spread, dtype, what in [
        (2, 3, 3000.0, 1.0, "float64", "all near 3000"),
        (3, 5, -4000.0, 1.0, "float64", "all near -4000"),
        (5, 4, 200.0, 2.0, "float32", "all near 200"),
        (4, 7, 0.0, 900.0, "float64", "far apart"),
        (7, 6, 0.0, 700.0, "float32", "far apart"),
    ]:
        # Rounded to what float32 can hold, so that the shift costs no accuracy.
        logits = normal(rng, "float64", n, v, scale=spread).mul(64).round().div(64) + shift
        logits = logits.to(getattr(torch, dtype))
        cases.append(_loss_case(rng, logits, whole(rng, v, n), -100, f", {what}"))
    # Each row for itself: one row is far above the other.
    logits = torch.stack([cases[0].inputs["arguments"][0][0], normal(rng, "float64", 3)])
    cases.append(_loss_case(rng, logits, whole(rng, 3, 2), -100, ", one row near 3000"))
    return cases


def draw_cells(
    rng: Generator, n_gates: int, forbidden: Sequence[str], take: int | None = None
) -> list[Case]:
    """Draw one step of a recurrent cell with one gate or with several."""
    cases = []
    for batch_size, d_input, d_hidden, dtype in [
        (1, 2, 1, "float64"),
        (2, 5, 3, "float64"),
        (5, 3, 7, "float32"),
        (3, 4, 4, "float64"),
    ]:
        rows = n_gates * d_hidden
        blank = [normal(rng, dtype, batch_size, d_hidden) for _ in range(1 + (n_gates > 1))]
        arguments = [
            normal(rng, dtype, batch_size, d_input),
            tuple(blank) if n_gates > 1 else blank[0],
            normal(rng, dtype, rows, d_input, scale=0.7),
            normal(rng, dtype, rows, d_hidden, scale=0.7),
            normal(rng, dtype, rows),
            normal(rng, dtype, rows),
        ]
        size = f"{counted(batch_size, 'row')}, d_input {d_input}, d_hidden {d_hidden}"
        cases.append(tensor_case(size, dtype, arguments, forbidden, take))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def call(implementation, inputs):
    """Return the result."""
    import torch

    used = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    with Watch():
        result = implementation(*inputs["arguments"])
    forbidden = [name for name in used if name in inputs["forbidden"]]
    if forbidden:
        return forbidden[0]
    if inputs["take"] is not None:
        return result[inputs["take"]]
    return tuple(result) if isinstance(result, tuple) else result


def differentiate(implementation, inputs):
    """Return the gradient of a weighted sum of the results, for every argument that has one."""
    import torch

    leaves, used = [], []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    def prepare(argument):
        if isinstance(argument, dict):
            return {key: prepare(value) for key, value in argument.items()}
        if isinstance(argument, tuple):
            return tuple(prepare(part) for part in argument)
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
    parts = result if isinstance(result, tuple) else (result,)
    total = sum(
        (part * torch.linspace(0.5, 1.5, part.numel(), dtype=part.dtype).view_as(part)).sum()
        for part in parts
    )
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
        kept = torch.get_default_dtype() == other and torch.is_grad_enabled()
    finally:
        torch.set_default_dtype(before)
    untouched = torch.equal(state, torch.get_rng_state())
    result = tuple(result) if isinstance(result, tuple) else result  # a named one is right too
    return result, arguments, kept, untouched


# -- reference versions ----------------------------------------------------------------------------


def package_cross_entropy(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    """Ask the package, which ignores an index of its own."""
    return objectives.cross_entropy(logits, targets.where(targets != ignore_index, IGNORE))


def package_step(
    cell: type[Cell], inputs: Tensor, state: State, weights: Sequence[Tensor]
) -> State:
    """Run a cell of the package on the given weights."""
    with torch.device("meta"):
        module = cell(inputs.shape[1], state[0].shape[1])
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    after: State = functional_call(module, dict(zip(names, weights, strict=True)), (inputs, state))
    return after


# -- judges and parts ------------------------------------------------------------------------------

# What float32 is sure of after sums of some dozens of terms in any order, and float64: a thousand
# times the rounding of one term, or more.
_SINGLE = {"rtol": 1e-4, "atol": 1e-5}
_DOUBLE = {"rtol": 1e-11, "atol": 1e-11}


def _judge(*, single: Judge, double: Judge) -> Judge:
    """Return a judge for each dtype of the inputs; both know what is forbidden."""
    judges = {"float32": single, "float64": double}

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is str and observed in inputs["forbidden"]:
            return f"it calls torch's own `{observed}`, which this task asks you to write out"
        if observed == "no gradient":
            return "no gradient reaches the arguments"
        return judges[inputs["dtype"]](observed, expected, inputs)

    return judge


_rough = agree(**_SINGLE)
near = _judge(single=_rough, double=_rough)
exact = _judge(single=agree(**_SINGLE, exact_dtype=True), double=agree(**_DOUBLE, exact_dtype=True))
KEEPS = "The result has the arguments' dtype and accuracy, in any default dtype; no side effects."
FLOWS = "Gradients flow from the result to every argument, and are right."


def near_part(name: str, requirement: str, inputs: Any, probe: Any, weight: float) -> Part:
    """Make a part that forgives rounding."""
    return Part(name, requirement, inputs, probe, judge=near, weight=weight)


def keeps(inputs: Any, probe: Any = call_elsewhere, requirement: str = KEEPS) -> Part:
    """Make the part that does not forgive a change of dtype, nor of anything else."""
    name = "nothing else changes"
    return Part(name, requirement, inputs, probe, judge=exact, earns_alone=False)
