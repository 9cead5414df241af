"""Inputs for the checks of problem set 3, drawn afresh for every student.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck; half of the cases are
in float32, half in float64. Ids are drawn, so that the id after a place is not one more than it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, counted

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


def _case(
    size: str,
    dtype: str,
    arguments: Sequence[Any],
    forbidden: Sequence[str] = (),
    take: int | None = None,
) -> Case:
    inputs = {
        "dtype": dtype,
        "arguments": list(arguments),
        "forbidden": list(forbidden),
        "take": take,
    }
    return Case(f"{size}, {dtype}", inputs)


# -- streams -----------------------------------------------------------------------------------


def _draw_streams(rng: Generator, sizes: Sequence[tuple[str, int, int, int]]) -> list[Case]:
    return [
        Case(size, {"arguments": [whole(rng, 90, n_ids), batch_size, length]})
        for size, n_ids, batch_size, length in sizes
    ]


def draw_streams(rng: Generator) -> list[Case]:
    """Streams that come out even: nothing is left over, and every piece is full."""
    sizes = [
        ("1 stream, 2 pieces of 3", 7, 1, 3),
        ("2 streams, 2 pieces of 3", 13, 2, 3),
        ("3 streams, 4 pieces of 5", 61, 3, 5),
        ("5 streams, 3 pieces of 2", 31, 5, 2),
    ]
    return _draw_streams(rng, sizes)


def draw_uneven_streams(rng: Generator) -> list[Case]:
    """Streams with a shorter last piece, with ids left over, or shorter than one piece."""
    sizes = [
        ("1 stream of 7 steps in pieces of 3", 8, 1, 3),
        ("2 streams of 4 steps in pieces of 3", 9, 2, 3),
        ("3 streams, 2 ids left over", 3 * 7 + 3, 3, 7),
        ("2 streams, 1 id left over, the last piece shorter", 2 * 8 + 2, 2, 5),
        ("4 streams of 3 steps in pieces of 9", 4 * 3 + 2, 4, 9),
        ("5 streams of 1 step in pieces of 1", 6, 5, 1),
    ]
    return _draw_streams(rng, sizes)


# -- windows -----------------------------------------------------------------------------------


def _draw_windows(rng: Generator, sizes: Sequence[tuple[int, int, int, str]]) -> list[Case]:
    cases = []
    for batch_size, n_positions, window, dtype in sizes:
        vocab_size, d_embedding, d_hidden = rng.permutation([11, 4, 7])
        weights = {
            "embedding": normal(rng, dtype, vocab_size, d_embedding),
            "hidden": normal(rng, dtype, d_hidden, window * d_embedding, scale=0.4),
            "hidden_bias": normal(rng, dtype, d_hidden),
            "output": normal(rng, dtype, vocab_size, d_hidden),
            "output_bias": normal(rng, dtype, vocab_size),
        }
        ids = whole(rng, vocab_size, batch_size, n_positions)
        eos_id = int(rng.integers(1, vocab_size))
        size = f"{counted(batch_size, 'row')} of {counted(n_positions, 'id')}, a window of {window}"
        cases.append(_case(size, dtype, [ids, window, eos_id, weights]))
    return cases


def draw_windows(rng: Generator) -> list[Case]:
    """Texts that are longer than the window."""
    sizes = [(1, 3, 1, "float64"), (1, 4, 2, "float64"), (2, 8, 3, "float32"), (3, 9, 5, "float64")]
    return _draw_windows(rng, sizes)


def draw_starts(rng: Generator) -> list[Case]:
    """Texts and windows of more than one id, so that some context is missing."""
    sizes = [(1, 4, 2, "float64"), (2, 7, 3, "float32"), (3, 6, 5, "float64")]
    return _draw_windows(rng, sizes)


def draw_short_texts(rng: Generator) -> list[Case]:
    """Texts that are shorter than the window."""
    sizes = [(1, 1, 2, "float64"), (2, 3, 5, "float32"), (3, 1, 4, "float64")]
    return _draw_windows(rng, sizes)


# -- losses ------------------------------------------------------------------------------------


def _loss_case(
    rng: Generator, logits: Tensor, targets: Tensor, ignore_index: int, what: str = ""
) -> Case:
    n_rows, vocab_size = logits.shape
    dtype = str(logits.dtype).removeprefix("torch.")
    size = f"{counted(n_rows, 'row')} of {counted(vocab_size, 'logit')}{what}"
    return _case(size, dtype, [logits, targets, ignore_index], LOSSES)


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


def draw_all_losses(rng: Generator) -> list[Case]:
    """A few of each kind."""
    return [*draw_losses(rng)[1:3], *draw_ignored(rng)[:3], *draw_extremes(rng)[-3:]]


# -- cells -------------------------------------------------------------------------------------


def _draw_cells(
    rng: Generator, n_gates: int, forbidden: Sequence[str], take: int | None = None
) -> list[Case]:
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
        cases.append(_case(size, dtype, arguments, forbidden, take))
    return cases


def draw_elman(rng: Generator) -> list[Case]:
    """One step of an Elman network."""
    return _draw_cells(rng, 1, CELLS)


def draw_lstm(rng: Generator) -> list[Case]:
    """One step of an LSTM."""
    return _draw_cells(rng, 4, CELLS)


def draw_lstm_memory(rng: Generator) -> list[Case]:
    """One step, of which the memory is looked at."""
    return _draw_cells(rng, 4, CELLS, take=1)


def draw_lstm_hidden(rng: Generator) -> list[Case]:
    """One step, of which the hidden state is looked at."""
    return _draw_cells(rng, 4, CELLS, take=0)


# -- training ----------------------------------------------------------------------------------


def _draw_training(
    rng: Generator,
    sizes: Sequence[tuple[int, Sequence[int], int, str]],
    take: str,
    rates: Sequence[float] = (0.5, 0.0),
) -> list[Case]:
    cases = []
    for number, (batch_size, lengths, n_parts, dtype) in enumerate(sizes):
        vocab_size, d_hidden = 7, (3, 5)[number % 2]
        inputs = {
            "dtype": dtype,
            "forbidden": [],
            "take": take,
            "weights": [
                normal(rng, dtype, vocab_size, d_hidden),
                normal(rng, dtype, d_hidden, d_hidden, scale=0.8),
                normal(rng, dtype, d_hidden, vocab_size),
            ],
            "state": tuple(normal(rng, dtype, batch_size, d_hidden) for _ in range(n_parts)),
            "pieces": [
                tuple(whole(rng, vocab_size, batch_size, length) for _ in range(2))
                for length in lengths
            ],
            "rate": rates[number % len(rates)],
        }
        pieces, rows = counted(len(lengths), "piece"), counted(batch_size, "row")
        size = f"{pieces} of {', '.join(map(str, lengths))} steps, {rows}, {dtype}"
        cases.append(Case(size, inputs))
    return cases


def draw_one_piece(rng: Generator) -> list[Case]:
    """A stream that is one piece: there is nothing to carry."""
    sizes = [(1, [1], 1, "float64"), (2, [4], 1, "float64"), (3, [5], 1, "float32")]
    return _draw_training(rng, sizes, "training")


def draw_many_pieces(rng: Generator) -> list[Case]:
    """Pieces of unequal lengths; the weights move between them, or stay."""
    sizes = [
        (1, [2, 2], 1, "float64"),
        (2, [3, 3, 1], 1, "float64"),
        (3, [4, 4, 4, 2], 1, "float32"),
        (2, [1, 5, 2], 1, "float64"),
    ]
    return _draw_training(rng, sizes, "training")


def draw_two_parts(rng: Generator) -> list[Case]:
    """States of two parts, as an LSTM has them."""
    sizes = [(1, [2, 2], 2, "float64"), (2, [3, 4, 1], 2, "float64"), (3, [2, 3], 2, "float32")]
    return _draw_training(rng, sizes, "training", rates=(0.0, 0.5))


def draw_returned_states(rng: Generator) -> list[Case]:
    """Streams whose last state is looked at."""
    sizes = [(1, [3], 1, "float64"), (3, [2], 1, "float64"), (2, [1, 2], 1, "float32")]
    return _draw_training(rng, sizes, "state")


def draw_repeated(rng: Generator) -> list[Case]:
    """Streams that are read twice, with weights that stay."""
    sizes = [(1, [3], 1, "float64"), (2, [2], 2, "float64"), (3, [2, 1], 1, "float32")]
    return _draw_training(rng, sizes, "everything", rates=(0.0,))


# -- clipping ----------------------------------------------------------------------------------

_SHAPES = [
    ([(2,)], "float64"),
    ([(2, 3), (4,)], "float64"),
    ([(3,), (2, 5), (1, 2, 4)], "float32"),
    ([(4, 3), (), (5,), (2, 2)], "float64"),
]


def _draw_gradients(rng: Generator, shares: Sequence[float]) -> list[Case]:
    """Draw gradients of which `max_norm` is the given share of the joint norm."""
    cases = []
    for (shapes, dtype), share in zip(_SHAPES, shares, strict=True):
        scale = float(rng.choice([0.3, 4.0]))
        # Some tensors are much longer than others, so that clipping each alone shows.
        gradients = [
            normal(rng, dtype, *shape, scale=scale * (1 + 2 * place))
            for place, shape in enumerate(shapes)
        ]
        norm = sum(float(gradient.double().square().sum()) for gradient in gradients) ** 0.5
        size = f"{counted(len(shapes), 'tensor')}, {dtype}, max_norm at {share:g} of the norm"
        inputs = {"dtype": dtype, "gradients": gradients, "max_norm": share * norm}
        cases.append(Case(size, {**inputs, "forbidden": []}))
    return cases


def draw_long_gradients(rng: Generator) -> list[Case]:
    """Gradients that must be shortened."""
    return _draw_gradients(rng, [0.5, 0.25, 0.8, 0.1])


def draw_short_gradients(rng: Generator) -> list[Case]:
    """Gradients that are short enough; alone and joint, by a little or by much."""
    return _draw_gradients(rng, [2.0, 1.05, 7.0, 1.3])


def draw_any_gradients(rng: Generator) -> list[Case]:
    """Long ones and short ones."""
    return _draw_gradients(rng, [0.5, 3.0, 0.3, 0.7])


def draw_missing_gradients(rng: Generator) -> list[Case]:
    """Gradients among which some are missing, or zero; or none at all."""
    first, second, third, fourth = draw_any_gradients(rng)
    first.inputs["gradients"].insert(0, None)
    second.inputs["gradients"].append(None)
    third.inputs["gradients"][1].zero_()
    for gradient in fourth.inputs["gradients"]:
        gradient.zero_()
    none = Case("only missing gradients", {**first.inputs, "gradients": [None, None]})
    names = ("a missing one first", "a missing one last", "one of zeros", "all zeros")
    cases = zip((first, second, third, fourth), names, strict=True)
    return [*(Case(f"{case.size}, {name}", case.inputs) for case, name in cases), none]
