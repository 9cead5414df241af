"""Inputs and references that several items of problem set 3 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck; beside them stands one
case in which all sizes are equal, so that a wrong axis cannot show by an exception alone. Half of
the cases are in float32, half in float64. Among the ids are always 0 and the largest, and the id
after a place is not one more than it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from autograder.authoring.checks import Case, counted
from course_pkg.layers.recurrent import Cell, State
from course_pkg.models import IGNORE
from course_pkg.training import objectives

from ..contracts import LOWER_THAN_ANY, far_scores
from ..tensors import Generator, normal, tensor_case

# -- inputs ----------------------------------------------------------------------------------------

LOSSES = ("cross_entropy", "nll_loss", "log_softmax", "logsumexp")
LOSSES += ("special_log_softmax", "special_logsumexp")
CELLS = ("rnn_tanh_cell", "rnn_tanh", "lstm_cell", "lstm")
"""What the tasks on the loss and on the cells ask to write out, by torch's names."""


def whole(rng: Generator, n: int, *shape: int) -> Tensor:
    """Draw ids below `n`, of which one is 0 and one is the largest, if there is room for both."""
    ids = torch.from_numpy(np.asarray(rng.integers(0, n, shape)))
    ends = torch.tensor([0, n - 1])[: ids.numel()]
    ids.view(-1)[rng.permutation(ids.numel())[: len(ends)].tolist()] = ends
    return ids


def _loss_case(logits: Tensor, targets: Tensor, ignore_index: int, what: str = "") -> Case:
    n_rows, vocab_size = logits.shape
    dtype = str(logits.dtype).removeprefix("torch.")
    label = f"{counted(n_rows, 'row')} of {counted(vocab_size, 'logit')}{what}"
    return tensor_case(label, dtype, logits, targets, ignore_index)


def draw_losses(rng: Generator) -> list[Case]:
    """Ordinary logits, and a target in every row; then rows with ties."""
    cases = [
        _loss_case(normal(rng, dtype, n, v, scale=2.0), whole(rng, v, n), -100)
        for n, v, dtype in [
            (1, 2, "float64"),
            (3, 5, "float32"),
            (7, 4, "float64"),
            (6, 6, "float64"),
            (2, 13, "float32"),
        ]
    ]
    ties = normal(rng, "float64", 5, 3)
    ties[1], ties[2, 1:], ties[4] = 0.75, ties[2].max() + 1, ties[3]
    return [*cases, _loss_case(ties, whole(rng, 3, 5), -100, ", with ties and equal rows")]


def draw_ignored(rng: Generator) -> list[Case]:
    """Some rows without a target; the index that says so may be an id too, or all there is."""
    cases = []
    for n, v, ignore_index, ignored, dtype in [
        (3, 4, -100, (2,), "float64"),
        (8, 5, -100, (0, 1, 3, 6, 7), "float32"),
        (9, 7, 0, (0, 2, 5, 8), "float64"),
        (7, 5, 4, (1, 2, 6), "float64"),
        (4, 3, -1, (0, 1, 2, 3), "float32"),
        (5, 4, 77, (0, 3), "float64"),
        (6, 6, 2, (), "float64"),
        (5, 300, 5, (1, 4), "float64"),
    ]:
        others = [i for i in range(v) if i != ignore_index]
        targets = torch.tensor([others[place] for place in whole(rng, len(others), n).tolist()])
        if v > 256:
            targets[0] = 256 + ignore_index  # the same in 8 bits
        targets[list(ignored)] = ignore_index
        what = f", {len(ignored)} of them with the target {ignore_index}, which is ignored"
        logits = normal(rng, dtype, n, v, scale=2.0)
        cases.append(_loss_case(logits, targets, ignore_index, what))
    return cases


def draw_extremes(rng: Generator) -> list[Case]:
    """Logits whose exponentials are too large, or too small, for their dtype."""
    cases = []
    for n, v, shift, spread, dtype, what in [
        (2, 3, 3000.0, 1.0, "float64", "all near 3000"),
        (3, 5, -4000.0, 1.0, "float64", "all near -4000"),
        (5, 4, 200.0, 2.0, "float32", "all near 200"),
        (4, 7, 0.0, 3000.0, "float64", "thousands apart"),
        (7, 6, 0.0, 900.0, "float32", "hundreds apart"),
    ]:
        # Steps of one spread and more, so that the largest is far above the others in every row,
        # and rounded to what float32 can hold, so that the shift costs no accuracy.
        order = torch.from_numpy(np.argsort(rng.random((n, v)), axis=-1)).double()
        logits = spread * (order + normal(rng, "float64", n, v, scale=0.1) - (v - 1) / 2)
        logits = logits.mul(64).round().div(64) + shift
        targets = whole(rng, v, n)
        targets[0] = logits[0].argmin()  # the least likely of all
        logits = logits.to(getattr(torch, dtype))
        cases.append(_loss_case(logits, targets, -100, f", {what}"))
    for dtype in LOWER_THAN_ANY:
        targets = torch.tensor([1, 2, 1])
        what = f", far from 0, such as {LOWER_THAN_ANY[dtype]:g}"
        cases.append(_loss_case(far_scores(dtype), targets, -100, what))
    # Each row for itself: one row is far above the other.
    logits = torch.stack([cases[0].inputs["arguments"][0][0], normal(rng, "float64", 3)])
    cases.append(_loss_case(logits, whole(rng, 3, 2), -100, ", one row near 3000"))
    return cases


def draw_hard_losses(rng: Generator) -> list[Case]:
    """What is ignored, and extremes."""
    return [*draw_ignored(rng), *draw_extremes(rng)]


def _cell_case(
    rng: Generator,
    sizes: tuple[int, int, int],
    n_gates: int,
    dtype: str,
    take: int | None,
    bias: Tensor | None = None,
) -> Case:
    batch_size, d_input, d_hidden = sizes
    rows = n_gates * d_hidden
    blank = [normal(rng, dtype, batch_size, d_hidden) for _ in range(1 + (n_gates > 1))]
    arguments = [
        normal(rng, dtype, batch_size, d_input),
        tuple(blank) if n_gates > 1 else blank[0],
        normal(rng, dtype, rows, d_input, scale=0.7),
        normal(rng, dtype, rows, d_hidden, scale=0.7),
        normal(rng, dtype, rows) if bias is None else bias.to(blank[0].dtype),
        normal(rng, dtype, rows),
    ]
    label = f"{counted(batch_size, 'row')}, d_input {d_input}, d_hidden {d_hidden}"
    return tensor_case(label, dtype, *arguments, take=take)


def draw_cells(rng: Generator, n_gates: int, take: int | None = None) -> list[Case]:
    """Draw one step of a recurrent cell with one gate or with several."""
    return [
        _cell_case(rng, sizes, n_gates, dtype, take)
        for sizes, dtype in [
            ((1, 2, 1), "float64"),
            ((2, 5, 3), "float64"),
            ((5, 3, 7), "float32"),
            ((4, 4, 4), "float64"),
            ((1, 1, 2), "float32"),
        ]
    ]


def draw_saturated_cells(rng: Generator, n_gates: int) -> list[Case]:
    """Draw steps whose sums are near 1000 and -1000, in all combinations of the gates."""
    d_hidden = 2**n_gates  # one number for each combination
    signs = torch.tensor([[(n >> gate) & 1 for n in range(d_hidden)] for gate in range(n_gates)])
    bias = 1000.0 * (2 * signs.flatten() - 1)
    cases = [
        _cell_case(rng, (2, 3, d_hidden), n_gates, dtype, None, bias)
        for dtype in ("float64", "float32")
    ]
    if n_gates > 1:
        for case in cases:
            memory = case.inputs["arguments"][1][1]  # beyond what is usual: exp would overflow
            memory.mul_(40).add_(100 * memory.sign())
    blank = _cell_case(rng, (2, 2, 3), n_gates, "float64", None)
    for part in blank.inputs["arguments"][1] if n_gates > 1 else blank.inputs["arguments"][1:2]:
        part.zero_()
    return [*cases, Case(f"{blank.label}, a state of zeros", blank.inputs)]


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
