"""The task "one step of an Elman network"."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.authoring.checks import (
    Case,
    Check,
    alternatives,
    mistake,
)
from course_pkg.layers.recurrent import ElmanCell

from .inputs import (
    CELLS,
    FLOWS,
    Generator,
    call,
    differentiate,
    draw_cells,
    keeps,
    near_part,
    package_step,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_elman(rng: Generator) -> list[Case]:
    """One step of an Elman network."""
    return draw_cells(rng, 1, CELLS)


# -- the reference version -------------------------------------------------------------------------


def elman_step(
    inputs: Tensor,
    hidden: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
) -> Tensor:
    """Run the package's cell on the given weights."""
    return package_step(ElmanCell, inputs, (hidden,), (weight_ih, weight_hh, bias_ih, bias_hh))[0]


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "The new state is the tanh of both products and both biases.",
        draw_elman,
        call,
        6,
    ),
    near_part("gradients", FLOWS, draw_elman, differentiate, 1.5),
    keeps(draw_elman),
)


# -- mistakes --------------------------------------------------------------------------------------


@mistake(
    hint="Your state has no tanh. Without it the state can grow at every step, and all steps "
    "together are one linear map.",
)
def without_tanh(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The tanh is missing."""
    return inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh


@mistake(
    hint="You squash with a sigmoid. The states of this network lie between -1 and 1: use tanh."
)
def sigmoid_for_tanh(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """A sigmoid stands in the place of the tanh."""
    return torch.sigmoid(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh)


@mistake(
    hint="You leave out bias_hh. With torch's weights there are two biases, and both are learned: "
    "add both.",
)
def without_second_bias(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The bias of the state is missing."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T)


@mistake(hint="You add bias_ih twice, and bias_hh not at all. They are two different vectors.")
def first_bias_twice(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The bias of the inputs is counted twice, and that of the state not at all."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_ih)


@mistake(
    hint="You multiply the state by weight_hh as it is. Both weights have one row for each number "
    "of the new state, so both must be transposed. As weight_hh is square, nothing complains.",
)
def state_not_transposed(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The weights of the state are not transposed."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh + bias_hh)


@mistake(
    hint="The inputs take no part in your sum, so all texts would look alike. Add their product "
    "with weight_ih.",
)
def without_inputs(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The inputs take no part."""
    return torch.tanh(bias_ih + hidden @ weight_hh.T + bias_hh)


@mistake(
    hint="The state before takes no part in your sum, so the network forgets every word at once. "
    "Add its product with weight_hh.",
)
def without_state(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The state before takes no part."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih + bias_hh)


@mistake(
    hint="You take a tanh of the inputs' part and one of the state's part. Add up everything "
    "first and squash the sum once.",
)
def two_tanhs(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """Inputs and state go through a tanh each, and are added up after that."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih) + torch.tanh(hidden @ weight_hh.T + bias_hh)


@mistake(
    hint="You add the old state behind the tanh. It goes through its own weights, and stands "
    "inside the tanh beside the inputs.",
)
def state_as_it_is(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The old state is added after the tanh instead of going through its weights."""
    return torch.tanh(inputs @ weight_ih.T + bias_ih) + hidden


@mistake(
    hint="You add the biases after the tanh. They belong to the sum inside: they decide where the "
    "tanh is steep.",
)
def biases_outside(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The biases are added after the tanh."""
    return torch.tanh(inputs @ weight_ih.T + hidden @ weight_hh.T) + bias_ih + bias_hh


@mistake(
    hint="You call torch's own cell. This task is to write it: two products, two biases and a tanh."
)
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


@mistake(
    hint="The new state is right, but you have written it into the tensor of the old one, which "
    "the caller still needs.",
)
def overwrite_the_state(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The new state is written into the old one."""
    after = torch.tanh(inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh)
    with torch.no_grad():
        hidden.copy_(after)
    return after


@mistake(
    hint="The value is right, but you detach the state before. So no step could learn from the "
    "next one. Where a graph is cut is decided outside, not in the step.",
)
def state_cut(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """No gradient flows into the state before."""
    before = hidden.detach()
    return torch.tanh(inputs @ weight_ih.T + bias_ih + before @ weight_hh.T + bias_hh)


MISTAKES = (
    without_tanh,
    sigmoid_for_tanh,
    without_second_bias,
    first_bias_twice,
    state_not_transposed,
    without_inputs,
    without_state,
    two_tanhs,
    state_as_it_is,
    biases_outside,
    library_cell,
    overwrite_the_state,
    state_cut,
)


# -- alternatives ----------------------------------------------------------------------------------


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


CHECK = Check(
    item="ps3_elman_step",
    points=8,
    target="elman_step",
    reference=elman_step,
    parts=PARTS,
    mistakes=MISTAKES,
    alternatives=alternatives(by_linear, by_one_product, by_einsum, by_rows, by_exponentials),
    seconds=5.0,
)
