"""Answers to the task "one step of an Elman network"."""

import torch
from torch import nn
from torch.nn import functional as F

from assignments.answers import alternatives, mistakes


def without_tanh(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The tanh is missing."""
    return inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh


def sigmoid_for_tanh(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """A sigmoid stands in the place of the tanh."""
    return torch.sigmoid(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh)


def without_second_bias(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The bias of the state is missing."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T)


def first_bias_twice(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The bias of the inputs is counted twice, and that of the state not at all."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_ih)


def state_not_transposed(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The weights of the state are not transposed."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh + bias_hh)


def without_inputs(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The inputs take no part."""
    return torch.tanh(bias_ih + hidden @ weight_hh.T + bias_hh)


def without_state(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The state before takes no part."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + bias_hh)


def two_tanhs(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Inputs and state go through a tanh each, and are added up after that."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih) + torch.tanh(hidden @ weight_hh.T + bias_hh)


def state_as_it_is(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The old state is added after the tanh instead of going through its weights."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih) + hidden


def biases_outside(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The biases are added after the tanh."""
    return torch.tanh(inputs @ weight_ih.T + hidden @ weight_hh.T) + bias_ih + bias_hh


def library_cell(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Torch's own cell is called."""
    cell = nn.RNNCell(inputs.shape[1], hidden.shape[1], device="meta")
    weights = {
        "weight_ih": weight_ih,
        "weight_hh": weight_hh,
        "bias_ih": bias_ih,
        "bias_hh": bias_hh,
    }
    return torch.func.functional_call(cell, weights, (inputs, hidden))


def overwrite_the_state(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The new state is written into the old one."""
    after = torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh)
    with torch.no_grad():
        hidden.copy_(after)
    return after


def state_cut(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """No gradient flows into the state before."""
    before = hidden.detach()
    return torch.tanh(inputs @ weight_ih.T + bias_ih + before @ weight_hh.T + bias_hh)


def by_linear(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Two linear layers of torch."""
    return (F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)).tanh()


def by_one_product(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """One product of everything side by side."""
    both = torch.cat([inputs, hidden], dim=1)
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    return torch.tanh(torch.addmm(bias_ih + bias_hh, both, weight.t()))


def by_einsum(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Sums over named axes."""
    from_inputs = torch.einsum("be,re->br", inputs, weight_ih)
    from_state = torch.einsum("bs,rs->br", hidden, weight_hh)
    return torch.tanh(from_inputs + from_state + (bias_ih + bias_hh)[None, :])


def by_rows(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Treats each row as a vector of its own."""
    rows = []
    for x, h in zip(inputs, hidden, strict=True):
        rows.append(torch.tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh))
    return torch.stack(rows)


def by_exponentials(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The tanh is written as a sigmoid of twice the sum."""
    total = (weight_ih @ inputs.T + weight_hh @ hidden.T).T + bias_ih + bias_hh
    return 2 * torch.sigmoid(2 * total) - 1


MISTAKES = mistakes(
    (
        without_tanh,
        "Your state has no tanh. Without it the state can grow at every step, and all steps "
        "together are one linear map.",
    ),
    (
        sigmoid_for_tanh,
        "You squash with a sigmoid. The states of this network lie between -1 and 1: use tanh.",
    ),
    (
        without_second_bias,
        "You leave out bias_hh. With torch's weights there are two biases, and both are learned: "
        "add both.",
    ),
    (
        first_bias_twice,
        "You add bias_ih twice, and bias_hh not at all. They are two different vectors.",
    ),
    (
        state_not_transposed,
        "You multiply the state by weight_hh as it is. Both weights have one row for each number "
        "of the new state, so both must be transposed. As weight_hh is square, nothing complains.",
    ),
    (
        without_inputs,
        "The inputs take no part in your sum, so all texts would look alike. Add their product "
        "with weight_ih.",
    ),
    (
        without_state,
        "The state before takes no part in your sum, so the network forgets every word at once. "
        "Add its product with weight_hh.",
    ),
    (
        two_tanhs,
        "You take a tanh of the inputs' part and one of the state's part. Add up everything first "
        "and squash the sum once.",
    ),
    (
        state_as_it_is,
        "You add the old state behind the tanh. It goes through its own weights, and stands inside "
        "the tanh beside the inputs.",
    ),
    (
        biases_outside,
        "You add the biases after the tanh. They belong to the sum inside: they decide where the "
        "tanh is steep.",
    ),
    (
        library_cell,
        "You call torch's own cell. This task is to write it: two products, two biases and a tanh.",
    ),
    (
        overwrite_the_state,
        "The new state is right, but you have written it into the tensor of the old one, which the "
        "caller still needs.",
    ),
    (
        state_cut,
        "The value is right, but you detach the state before. So no step could learn from the next "
        "one. Where a graph is cut is decided outside, not in the step.",
    ),
)

ALTERNATIVES = alternatives(by_linear, by_one_product, by_einsum, by_rows, by_exponentials)
