"""The task "one step of an LSTM"."""

import torch
from torch import Tensor, nn

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.layers.recurrent import LSTMCell, State

from ..contracts import Contract
from ..tensors import FLOWS, Generator, any_layout, call, differentiate, keeps, near_part
from .inputs import CELLS, draw_cells, draw_saturated_cells, package_step

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B I; B H; G I; G H; G; G")


def draw_lstm(rng: Generator) -> list[Case]:
    """One step of an LSTM."""
    return draw_cells(rng, 4)


def draw_saturated(rng: Generator) -> list[Case]:
    """One step of which every sum is near 1000 or -1000."""
    return draw_saturated_cells(rng, 4)


def draw_lstm_memory(rng: Generator) -> list[Case]:
    """One step, of which the memory is looked at."""
    return draw_cells(rng, 4, take=1)


def draw_lstm_hidden(rng: Generator) -> list[Case]:
    """One step, of which the hidden state is looked at."""
    return draw_cells(rng, 4, take=0)


def draw_lstm_and_saturated(rng: Generator) -> list[Case]:
    """Ordinary steps, and gates that are wide open or shut."""
    return [*draw_lstm(rng), *draw_saturated(rng)]


# -- the reference version -------------------------------------------------------------------------


def lstm_step(
    inputs: Tensor,
    state: State,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
) -> State:
    """Run the package's cell on the given weights."""
    return package_step(LSTMCell, inputs, state, (weight_ih, weight_hh, bias_ih, bias_hh))


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "memory",
        "The memory keeps what the forget gate lets through, and gains the candidate.",
        draw_lstm_memory,
        call,
        4,
    ),
    near_part(
        "hidden",
        "The hidden state is what the output gate shows of the new memory.",
        draw_lstm_hidden,
        call,
        3,
    ),
    near_part(
        "saturation",
        "Gates that are wide open or shut give finite and right results.",
        draw_saturated,
        call,
        0.5,
    ),
    near_part("gradients", FLOWS, draw_lstm_and_saturated, differentiate, 1),
    any_layout(draw_lstm, 0.5, CONTRACT),
    *keeps(draw_lstm, draw_saturated),
    not_allowed(CELLS, draw_lstm),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """The answer that the mistakes start from."""
    hidden, memory = state
    gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    into, forget, candidate, out = gates.chunk(4, dim=-1)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(into) * torch.tanh(candidate)
    return torch.sigmoid(out) * torch.tanh(memory), memory


@mistake(
    hint="You call torch's own cell. This task is to write it: two products, three sigmoids, two "
    "tanhs.",
)
def library_cell(inputs, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """Torch's own cell is called."""
    cell = nn.LSTMCell(inputs.shape[1], state[0].shape[1], device="meta")
    weights = {
        "weight_ih": weight_ih,
        "weight_hh": weight_hh,
        "bias_ih": bias_ih,
        "bias_hh": bias_hh,
    }
    return torch.func.functional_call(cell, weights, (inputs, state))


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Input gate and forget gate are swapped.",
        replace={"into, forget, candidate, out": "forget, into, candidate, out"},
        hint="Your first block is the forget gate, and the second the input gate. In torch's "
        "order the input gate comes first. Everything would run, with weights from elsewhere "
        "misread.",
        keeps=0.5,
    ),
    mistake(
        "Candidate and output gate are swapped.",
        replace={"into, forget, candidate, out": "into, forget, out, candidate"},
        hint="Your third block is the output gate, and the last the candidate. In torch's order "
        "the candidate comes before the output gate.",
        keeps=0.5,
    ),
    mistake(
        "The candidate is a sigmoid instead of a tanh.",
        replace={"torch.tanh(candidate)": "torch.sigmoid(candidate)"},
        hint="Your candidate is a sigmoid. So the memory can only be raised, never lowered: the "
        "candidate is a tanh, between -1 and 1.",
        keeps=0.5,
    ),
    mistake(
        "The memory is shown without a tanh.",
        replace={"torch.tanh(memory)": "memory"},
        hint="Your hidden state shows the memory as it is. The memory may grow beyond all bounds, "
        "so it goes through a tanh before the output gate.",
        keeps=0.5,
    ),
    mistake(
        "The hidden state shows the memory from before the step.",
        replace={
            "memory = torch": "after = torch",
            "torch.tanh(memory), memory": "torch.tanh(memory), after",
        },
        hint="Your memory is right, but the hidden state shows the memory from before the step. "
        "Use the new one.",
        keeps=0.5,
    ),
    mistake(
        "Memory and hidden state are returned in the wrong order.",
        replace={
            "return torch": "return memory, torch",
            "torch.tanh(memory), memory": "torch.tanh(memory)",
        },
        hint="Both results are right, but you return the memory first. The hidden state comes "
        "first, as in the state that you are given.",
        keeps=0.5,
    ),
    mistake(
        "The state that is given is read as memory, hidden state.",
        replace={"hidden, memory = state": "memory, hidden = state"},
        hint="You unpack the state as memory, hidden state. It is the other way round: the hidden "
        "state comes first.",
        keeps=0.5,
    ),
    mistake(
        "The old memory is lost: the candidate replaces it.",
        replace={"torch.sigmoid(forget) * memory + ": ""},
        hint="In your step the old memory is lost. What the forget gate lets through of it is "
        "added to what is new; this sum is the whole point.",
    ),
    mistake(
        "The forget gate is left out, as in 1997: nothing is ever forgotten.",
        replace={"torch.sigmoid(forget) * memory": "memory"},
        hint="You add the whole old memory. That was the network of 1997; here the forget gate "
        "decides, number by number, how much of it stays.",
    ),
    mistake(
        "The input gate is one minus the forget gate.",
        replace={"torch.sigmoid(into)": "(1 - torch.sigmoid(forget))"},
        hint="You make the input gate out of the forget gate, as a GRU does. In an LSTM it is a "
        "gate of its own: the first block.",
    ),
    mistake(
        "The gates do not go through a sigmoid.",
        replace={
            "torch.sigmoid(forget)": "forget",
            "torch.sigmoid(into)": "into",
            "torch.sigmoid(out)": "out",
        },
        hint="Your gates are numbers of any size. A gate says which share is let through: it "
        "needs a sigmoid, which is between 0 and 1.",
        keeps=0.3,
    ),
    mistake(
        "The bias of the hidden state is missing.",
        replace={" + bias_hh": ""},
        hint="You leave out bias_hh. With torch's weights there are two biases, and both are "
        "learned: add both.",
        keeps=0.5,
    ),
    mistake(
        "The memory that is carried on has gone through the output gate.",
        replace={"torch.tanh(memory), memory": "torch.tanh(memory), torch.sigmoid(out) * memory"},
        hint="You return a memory that has gone through the output gate. The gate decides what is "
        "shown; the memory itself is carried on whole.",
    ),
    mistake(
        "The memory that is carried on has gone through the tanh.",
        replace={"torch.tanh(memory), memory": "torch.tanh(memory), torch.tanh(memory)"},
        hint="You carry the memory on after its tanh. The tanh belongs only to what is shown: a "
        "memory that is squashed at every step fades, and so does its gradient.",
    ),
    mistake(
        "A gate is made of every fourth number instead of one block.",
        replace={"chunk(4, dim=-1)": "unflatten(-1, (-1, 4)).unbind(-1)"},
        hint="You take every fourth number for a gate. The blocks come one after the other: the "
        "first R numbers are the input gate.",
        keeps=0.5,
    ),
    library_cell,
    mistake(
        "The caller's memory is changed.",
        replace={
            "return torch.sigmoid(out) * torch.tanh(memory), memory": """
                with torch.no_grad():
                    state[1].copy_(memory)
                return torch.sigmoid(out) * torch.tanh(memory), memory
            """,
        },
        hint="The results are right, but you have changed the memory that you were given. The "
        "caller still needs it: make a new tensor.",
    ),
)

CHECK = Check(
    item="ps3_lstm_step",
    points=12,
    target="lstm_step",
    reference=lstm_step,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
