"""What a layer costs, against formulas worked out by hand and against torch's own counts."""

import pytest
import torch
from torch import nn

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.cost import layer_cost, longest_chain
from course_pkg.layers.plain_attention import PlainAttention
from course_pkg.layers.recurrent import ElmanCell, GRUCell, RecurrentStack

D, H = 12, 3


def recurrent(cell):
    stack = RecurrentStack(cell, D, D, fused=False)
    return lambda x: stack(x)[0]


@pytest.mark.parametrize("T", [5, 17])
def test_multiplications_of_attention_are_the_formula_of_the_page(T):
    """Four projections of D x D per position, then T x T scores and averages of D entries."""
    cost = layer_cost(PlainAttention(D, H), torch.ones(1, T, D))
    assert cost.n_multiplications == 4 * T * D**2 + 2 * T**2 * D


@pytest.mark.parametrize(("cell", "n_gates"), [(ElmanCell, 1), (GRUCell, 3)])
@pytest.mark.parametrize("T", [5, 17])
def test_multiplications_of_a_recurrent_layer_are_the_formula_of_the_page(cell, n_gates, T):
    cost = layer_cost(recurrent(cell), torch.ones(1, T, D))
    assert cost.n_multiplications == n_gates * 2 * T * D**2


def test_serial_steps_grow_with_length_in_a_recurrent_layer_and_not_in_attention():
    lengths = (4, 8, 16)
    in_series = {
        name: [layer_cost(layer, torch.ones(1, T, D)).n_serial_steps for T in lengths]
        for name, layer in (
            ("recurrent", recurrent(ElmanCell)),
            ("attention", PlainAttention(D, H)),
        )
    }
    first, second, third = in_series["recurrent"]
    assert third - second == 2 * (second - first) > 0  # the same for each further word
    assert len(set(in_series["attention"])) == 1


def test_written_out_attention_keeps_a_square_and_the_kernel_does_not():
    fused = MultiHeadAttention(D, H)
    kept = {
        name: [layer_cost(layer, torch.ones(1, T, D)).saved_bytes for T in (32, 64, 128)]
        for name, layer in (
            ("written out", PlainAttention(D, H)),
            ("kernel", lambda x: fused(x, is_causal=True)),
        )
    }
    # Second differences: H x T x T numbers of 4 bytes are kept at least once; linear growth has 0.
    growth = {name: (c - b) - 2 * (b - a) for name, (a, b, c) in kept.items()}
    assert growth["written out"] >= 4 * H * (128**2 - 3 * 64**2 + 2 * 32**2)
    assert growth["kernel"] == 0


def test_saved_bytes_are_those_of_a_product():
    """y = x W keeps x for the gradient of W, and W for that of x."""
    layer = nn.Linear(D, 5, bias=False)
    assert layer_cost(layer, torch.ones(7, D)).saved_bytes == 4 * (7 * D + 5 * D)


def test_longest_chain_takes_the_longer_of_two_ways():
    x = torch.ones(3, requires_grad=True)
    assert longest_chain(x.exp().log().sin() + x.cos()) == 4


def test_longest_chain_is_longer_than_python_may_recurse():
    x = total = torch.ones((), requires_grad=True)
    for _ in range(5000):
        total = total.sin()
    assert longest_chain(total) == 5000
    assert x.grad is None


def test_cost_rejects_what_cannot_be_measured():
    with pytest.raises(ValueError, match="n_repeats is 0; it must be at least 1"):
        layer_cost(lambda x: x, torch.ones(2), n_repeats=0)
    with pytest.raises(ValueError, match="out has no grad_fn"):
        longest_chain(torch.ones(2))
