"""The task "one step of an Elman network"."""

import torch
from torch import Tensor, nn

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.layers.recurrent import ElmanCell

from ..contracts import Contract
from ..tensors import FLOWS, Generator, any_layout, call, differentiate, keeps, near_part
from .inputs import CELLS, draw_cells, draw_saturated_cells, package_step

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B I; B H; G I; G H; G; G")


def draw_elman(rng: Generator) -> list[Case]:
    """One step of an Elman network."""
    return draw_cells(rng, 1)


def draw_saturated(rng: Generator) -> list[Case]:
    """One step of which every sum is near 1000 or -1000."""
    return draw_saturated_cells(rng, 1)


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
    near_part(
        "saturation",
        "Sums near 1000 and -1000 give states of 1 and -1.",
        draw_saturated,
        call,
        0.5,
    ),
    near_part("gradients", FLOWS, draw_elman, differentiate, 1),
    any_layout(draw_elman, 0.5, CONTRACT),
    *keeps(draw_elman, draw_saturated),
    not_allowed(CELLS, draw_elman),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The answer that the mistakes start from."""
    total = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    return torch.tanh(total)


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


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The tanh is missing.",
        replace={"torch.tanh(total)": "total"},
        hint="Your state has no tanh. Without it the state can grow at every step, and all steps "
        "together are one linear map.",
        keeps=0.3,
    ),
    mistake(
        "A sigmoid is used instead of the tanh.",
        replace={"torch.tanh": "torch.sigmoid"},
        hint="You squash with a sigmoid. The states of this network lie between -1 and 1: use "
        "tanh.",
        keeps=0.5,
    ),
    mistake(
        "The bias of the state is missing.",
        replace={" + bias_hh": ""},
        hint="You leave out bias_hh. With torch's weights there are two biases, and both are "
        "learned: add both.",
        keeps=0.5,
    ),
    mistake(
        "The bias of the inputs is counted twice, and that of the state not at all.",
        replace={"+ bias_hh": "+ bias_ih"},
        hint="You add bias_ih twice, and bias_hh not at all. They are two different vectors.",
        keeps=0.5,
    ),
    mistake(
        "The weights of the state are not transposed.",
        replace={"weight_hh.T": "weight_hh"},
        hint="You multiply the state by weight_hh as it is. Both weights have one row for each "
        "number of the new state, so both must be transposed. As weight_hh is square, nothing "
        "complains.",
        keeps=0.5,
    ),
    mistake(
        "The inputs are left out.",
        replace={"inputs @ weight_ih.T + ": ""},
        hint="You leave the inputs out of the sum, so all texts would look alike. Add their "
        "product with weight_ih.",
    ),
    mistake(
        "The previous state is left out.",
        replace={"hidden @ weight_hh.T + ": ""},
        hint="You leave the previous state out of the sum, so the network forgets every word at "
        "once. Add its product with weight_hh.",
    ),
    mistake(
        "Inputs and state go through a tanh each, and are added up after that.",
        replace={
            "torch.tanh(total)": "torch.tanh(inputs @ weight_ih.T + bias_ih) + torch.tanh(hidden @ "
            "weight_hh.T + bias_hh)",
        },
        hint="You take a tanh of the inputs' part and one of the state's part. Add up everything "
        "first and squash the sum once.",
    ),
    mistake(
        "The old state is added after the tanh instead of going through its weights.",
        replace={
            " + hidden @ weight_hh.T + bias_hh": "",
            "torch.tanh(total)": "torch.tanh(total) + hidden",
        },
        hint="You add the old state after the tanh. It goes through its own weights, and belongs "
        "inside the tanh, together with the inputs.",
    ),
    mistake(
        "The biases are added after the tanh.",
        replace={
            " + bias_ih + hidden @ weight_hh.T + bias_hh": " + hidden @ weight_hh.T",
            "torch.tanh(total)": "torch.tanh(total) + bias_ih + bias_hh",
        },
        hint="You add the biases after the tanh. They belong to the sum inside: they decide where "
        "the tanh is steep.",
        keeps=0.5,
    ),
    library_cell,
    mistake(
        "The new state is written into the old one.",
        replace={
            "return torch.tanh(total)": """
                with torch.no_grad():
                    hidden.copy_(torch.tanh(total))
                return torch.tanh(total)
            """,
        },
        hint="The new state is right, but you have written it into the tensor of the old one, "
        "which the caller still needs.",
    ),
    mistake(
        "No gradient flows into the state before.",
        replace={"hidden @": "hidden.detach() @"},
        hint="The value is right, but you detach the state before. So no step could learn from "
        "the next one. Where a graph is cut is decided outside, not in the step.",
    ),
)

CHECK = Check(
    item="ps3_elman_step",
    points=8,
    target="elman_step",
    reference=elman_step,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
