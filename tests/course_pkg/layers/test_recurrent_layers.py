"""Cells and stacks against torch.nn, in value and gradient."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_pkg.layers.recurrent import (
    ElmanCell,
    GRUCell,
    LSTMCell,
    RecurrentStack,
    set_spectral_radius,
)

CELLS = [(ElmanCell, nn.RNNCell), (LSTMCell, nn.LSTMCell), (GRUCell, nn.GRUCell)]
# float64 sums of under a hundred terms in another order differ by far less.
CLOSE = {"rtol": 0.0, "atol": 1e-10}


def random_state(stack: RecurrentStack, batch_size: int, rng: torch.Generator):
    return tuple(
        torch.randn(part.shape, generator=rng, dtype=part.dtype)
        for part in stack.initial_state(batch_size)
    )


def stack_like(cell, rng, *, fused=False, **kwargs) -> RecurrentStack:
    return RecurrentStack(cell, 3, 5, fused=fused, generator=rng, **kwargs).double()


def torch_twin(stack: RecurrentStack) -> nn.RNNBase:
    """A module that torch built, with a copy of our weights."""
    twin = type(stack.kernel)(
        3,
        5,
        stack.n_layers,
        batch_first=True,
        bidirectional=len(stack.directions) == 2,
        dropout=stack.dropout,
        dtype=torch.float64,
    )
    twin.load_state_dict(stack.kernel.state_dict())
    return twin


def as_torch(state):
    return state if len(state) > 1 else state[0]


@pytest.mark.parametrize(("cell", "torch_cell"), CELLS)
@pytest.mark.parametrize(("d_input", "d_hidden"), [(3, 5), (7, 2)])
def test_cell_matches_torch(cell, torch_cell, d_input, d_hidden, rng):
    ours = cell(d_input, d_hidden, generator=rng).double()
    theirs = torch_cell(d_input, d_hidden, dtype=torch.float64)
    theirs.load_state_dict(ours.state_dict())
    inputs = torch.randn(4, d_input, generator=rng, dtype=torch.float64, requires_grad=True)
    state = tuple(
        torch.randn(4, d_hidden, generator=rng, dtype=torch.float64) for _ in range(cell.n_states)
    )
    renewed = ours(inputs, state)
    expected = theirs(inputs, as_torch(state))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for part, expected_part in zip(renewed, expected, strict=True):
        torch.testing.assert_close(part, expected_part, **CLOSE)
    weights = [torch.randn(part.shape, generator=rng, dtype=torch.float64) for part in renewed]
    grads = torch.autograd.grad(renewed, [inputs, *ours.parameters()], weights)
    expected_grads = torch.autograd.grad(expected, [inputs, *theirs.parameters()], weights)
    for grad, expected_grad in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(grad, expected_grad, **CLOSE)


def test_cell_accepts_weights_that_torch_drew(rng):
    theirs = nn.LSTMCell(3, 5, dtype=torch.float64)
    ours = LSTMCell(3, 5).double()
    ours.load_state_dict(theirs.state_dict())
    inputs = torch.randn(2, 3, generator=rng, dtype=torch.float64)
    state = tuple(torch.randn(2, 5, generator=rng, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(ours(inputs, state), theirs(inputs, state), **CLOSE)


@pytest.mark.parametrize(("cell", "torch_cell"), CELLS)
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("is_bidirectional", [False, True])
@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("lengths", [None, [4, 7, 1]])
def test_stack_matches_torch(cell, torch_cell, fused, is_bidirectional, n_layers, lengths, rng):
    ours = stack_like(cell, rng, fused=fused, n_layers=n_layers, is_bidirectional=is_bidirectional)
    theirs = torch_twin(ours)
    inputs = torch.randn(3, 7, 3, generator=rng, dtype=torch.float64, requires_grad=True)
    state = random_state(ours, 3, rng)
    if lengths is None:
        outputs, after = ours(inputs, state)
        expected, expected_after = theirs(inputs, as_torch(state))
    else:
        outputs, after = ours(inputs, state, torch.tensor(lengths))
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        packed, expected_after = theirs(packed, as_torch(state))
        expected, _ = pad_packed_sequence(packed, batch_first=True)
    torch.testing.assert_close(outputs, expected, **CLOSE)
    torch.testing.assert_close(as_torch(after), expected_after, **CLOSE)

    weights = torch.randn(outputs.shape, generator=rng, dtype=torch.float64)
    loss = (outputs * weights).sum() + sum(part.square().sum() for part in after)
    expected_after = expected_after if isinstance(expected_after, tuple) else (expected_after,)
    expected_loss = (expected * weights).sum() + sum(p.square().sum() for p in expected_after)
    grads = torch.autograd.grad(loss, [inputs, *ours.parameters()])
    expected_grads = torch.autograd.grad(expected_loss, [inputs, *theirs.parameters()])
    for grad, expected_grad in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(grad, expected_grad, **CLOSE)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("cell", [ElmanCell, LSTMCell, GRUCell])
def test_stack_drops_between_layers_as_torch_does(cell, fused, rng):
    ours = stack_like(cell, rng, fused=fused, n_layers=3, is_bidirectional=True, dropout=0.4)
    theirs = torch_twin(ours)
    inputs = torch.randn(2, 5, 3, generator=rng, dtype=torch.float64)
    torch.manual_seed(3)
    outputs, _ = ours(inputs)
    torch.manual_seed(3)
    expected, _ = theirs(inputs)
    torch.testing.assert_close(outputs, expected, **CLOSE)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(inputs)[0], theirs(inputs)[0], **CLOSE)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("cell", [ElmanCell, LSTMCell, GRUCell])
def test_padding_never_updates_the_state(cell, fused, rng):
    stack = stack_like(cell, rng, fused=fused, n_layers=2, is_bidirectional=True)
    inputs = torch.randn(2, 7, 3, generator=rng, dtype=torch.float64)
    short, _ = inputs[:1, :4], inputs[:1]
    outputs, state = stack(inputs, lengths=torch.tensor([4, 7]))
    garbage = inputs.clone()
    garbage[0, 4:] = 1e6
    outputs_garbage, state_garbage = stack(garbage, lengths=torch.tensor([4, 7]))
    alone, state_alone = stack(short)
    torch.testing.assert_close(outputs, outputs_garbage, rtol=0, atol=0)
    torch.testing.assert_close(outputs[:1, :4], alone, **CLOSE)
    assert not outputs[0, 4:].any()
    for part, part_garbage, part_alone in zip(state, state_garbage, state_alone, strict=True):
        torch.testing.assert_close(part, part_garbage, rtol=0, atol=0)
        torch.testing.assert_close(part[:, :1], part_alone, **CLOSE)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("cell", [ElmanCell, LSTMCell, GRUCell])
def test_stack_read_in_two_parts_equals_one_reading(cell, fused, rng):
    stack = stack_like(cell, rng, fused=fused, n_layers=2)
    inputs = torch.randn(2, 7, 3, generator=rng, dtype=torch.float64)
    whole, state = stack(inputs)
    first, carried = stack(inputs[:, :3])
    second, state_in_two = stack(inputs[:, 3:], carried)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, **CLOSE)
    torch.testing.assert_close(state_in_two, state, **CLOSE)


@pytest.mark.parametrize("fused", [False, True])
def test_stack_ignores_the_future(fused, rng):
    stack = stack_like(GRUCell, rng, fused=fused, n_layers=2)
    inputs = torch.randn(2, 7, 3, generator=rng, dtype=torch.float64)
    changed = inputs.clone()
    changed[:, 4:] += 1
    outputs, outputs_changed = stack(inputs)[0], stack(changed)[0]
    torch.testing.assert_close(outputs[:, :4], outputs_changed[:, :4], rtol=0, atol=0)
    assert (outputs[:, 4:] != outputs_changed[:, 4:]).any()


@pytest.mark.gpu
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("cell", [ElmanCell, LSTMCell, GRUCell])
def test_stack_on_a_gpu_equals_the_cpu(cell, fused, rng):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    stack = stack_like(cell, rng, fused=fused, n_layers=2, is_bidirectional=True)
    inputs = torch.randn(3, 7, 3, generator=rng, dtype=torch.float64)
    lengths = torch.tensor([4, 7, 1])
    expected, expected_state = stack(inputs, lengths=lengths)
    outputs, state = stack.cuda()(inputs.cuda(), lengths=lengths.cuda())
    torch.testing.assert_close(outputs.cpu(), expected, **CLOSE)
    torch.testing.assert_close(tuple(part.cpu() for part in state), expected_state, **CLOSE)


def test_stack_runs_a_given_step(rng):
    calls = []

    def step(projected, state, weight_hh, bias_hh):
        calls.append(projected.shape)
        return LSTMCell.step(projected, state, weight_hh, bias_hh)

    stack = stack_like(LSTMCell, rng, step=step, n_layers=2)
    inputs = torch.randn(2, 7, 3, generator=rng, dtype=torch.float64)
    outputs, _ = stack(inputs)
    assert calls == [(2, 20)] * 14
    torch.testing.assert_close(outputs, torch_twin(stack)(inputs)[0], **CLOSE)


def test_stack_rejects_a_given_step_when_fused():
    with pytest.raises(ValueError, match="fused is True"):
        RecurrentStack(LSTMCell, 3, 5, step=LSTMCell.step)


@pytest.mark.parametrize("lengths", [[0, 3], [2, 6]])
def test_stack_rejects_lengths_outside_the_input(lengths, rng):
    stack = stack_like(ElmanCell, rng)
    with pytest.raises(ValueError, match=rf"lengths is \[{lengths[0]}, {lengths[1]}\]"):
        stack(torch.zeros(2, 5, 3, dtype=torch.float64), lengths=torch.tensor(lengths))


def test_stack_initialises_the_same_weights_from_the_same_seed():
    one, other = (
        RecurrentStack(GRUCell, 3, 5, generator=torch.Generator().manual_seed(8)) for _ in range(2)
    )
    for weight, other_weight in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(weight, other_weight)
        assert weight.abs().max() <= 5**-0.5


@pytest.mark.parametrize("radius", [0.5, 1.0, 1.7])
def test_spectral_radius_becomes_the_one_asked_for(radius, rng):
    weight = torch.randn(6, 6, generator=rng, dtype=torch.float64)
    direction = weight / weight.norm()
    set_spectral_radius(weight, radius)
    # Long products grow by the radius per factor: Gelfand's formula, no eigenvalue routine.
    growth = torch.linalg.matrix_power(weight / radius, 1000).norm() ** (1 / 1000)
    assert growth.item() == pytest.approx(1.0, abs=0.01)  # the formula's error falls as 1/power
    torch.testing.assert_close(weight / weight.norm(), direction, **CLOSE)


def test_spectral_radius_rejects_a_negative_radius():
    with pytest.raises(ValueError, match="radius is -1"):
        set_spectral_radius(torch.eye(2), -1.0)
