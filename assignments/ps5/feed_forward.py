"""The task "the feed-forward layer"."""

import math  # noqa: F401  (read by a replacement)

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.layers.blocks import FeedForward

from ..contracts import Contract
from ..tensors import (
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near_part,
    normal,
    tensor_case,
)
from .inputs import shape_text

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*rows D; -", empty="rows")


def _weights(rng: Generator, dtype: str, d_model: int, d_ff: int) -> dict[str, Tensor]:
    return {
        "expand": normal(rng, dtype, d_ff, d_model),
        "gate": normal(rng, dtype, d_ff, d_model),
        "contract": normal(rng, dtype, d_model, d_ff, scale=0.7),
    }


def _case(
    rng: Generator,
    shape: tuple[int, ...],
    d_ff: int,
    dtype: str = "float64",
    *,
    scale: float = 1.0,
    what: str = "",
) -> Case:
    arguments = [normal(rng, dtype, *shape, scale=scale), _weights(rng, dtype, shape[-1], d_ff)]
    label = f"x of shape {shape_text(shape)}{what}, d_ff {d_ff}"
    return tensor_case(label, dtype, *arguments)


def draw_positions(rng: Generator) -> list[Case]:
    """One vector, rows, more axes; wider inside, narrower, and of one width."""
    return [
        _case(rng, (2,), 3),
        _case(rng, (3, 4), 7),
        _case(rng, (2, 5, 3), 2, "float32"),
        _case(rng, (2, 3, 5), 5),
        _case(rng, (2, 1, 3, 4), 9, "float32"),
        _case(rng, (1, 3, 2, 2, 3), 4),
    ]


def draw_extremes(rng: Generator) -> list[Case]:
    """Units a thousand away from 0 on either side: fixed, so that every student meets both."""
    cases = []
    for dtype in ("float64", "float32"):
        x = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [0.5, 0.25]], dtype=getattr(torch, dtype))
        weights = _weights(rng, dtype, 2, 3)
        weights["expand"] = weights["expand"].new_tensor([[500, -500], [-60, 60], [-400, -20]])
        cases.append(tensor_case("units near 1000 and near -1000", dtype, x, weights))
    return cases


def draw_layouts(rng: Generator) -> list[Case]:
    """Vectors below several axes."""
    return draw_positions(rng)[3:5]


def draw_neighbours(rng: Generator) -> list[Case]:
    """Texts of which one position changes."""
    cases = []
    for shape, d_ff, place, dtype in [
        ((1, 4, 3), 24, 2, "float64"),  # so wide that some units are never below 0
        ((2, 5, 4), 16, 0, "float64"),
        ((3, 2, 2), 12, 1, "float32"),
    ]:
        inputs = {
            "x": normal(rng, dtype, *shape),
            "weights": _weights(rng, dtype, shape[-1], d_ff),
            "place": place,
        }
        cases.append(Case(f"x of shape {shape_text(shape)}, {dtype}", inputs))
    return cases


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary ones, and units far from 0."""
    return [*draw_positions(rng)[1:5], draw_extremes(rng)[0]]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_extremes(rng), *CONTRACT.forms(draw_layouts)(rng)[-2:]]


# -- probes ----------------------------------------------------------------------------------------


def call_after_training(implementation, inputs):
    """Return the result for weights that have changed, in place, since a call before."""
    import torch

    x, weights = inputs["arguments"]
    trained = {name: weight.clone() for name, weight in weights.items()}
    with torch.no_grad():
        for weight in weights.values():
            weight.neg_()
    implementation(x.clone(), dict(weights))
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(trained[name])
    return implementation(x, weights)


def change_one_position(implementation, inputs):
    """Return whether one position's change leaves the others as they were, and changes its own."""
    import torch

    x, weights, place = inputs["x"], inputs["weights"], inputs["place"]
    before = implementation(x, dict(weights))
    moved = x.clone()
    moved[:, place] = moved[:, place].flip(-1) * 2 + 1
    after = implementation(moved, dict(weights))
    is_other = torch.arange(x.shape[1]) != place
    close = {"rtol": 1e-4, "atol": 1e-5}
    stays = torch.allclose(before[:, is_other], after[:, is_other], **close)
    moves = not torch.allclose(before[:, place], after[:, place], **close)
    alone = implementation(x[:, place : place + 1], dict(weights))
    return stays, moves, torch.allclose(alone[:, 0], before[:, place], **close)


# -- the reference version -------------------------------------------------------------------------


def feed_forward(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
    """Run the package's layer on the given weights."""
    d_ff, d_model = weights["expand"].shape
    with torch.device("meta"):
        layer = FeedForward(d_model, d_ff, activation="swiglu", has_bias=False)
    parameters = {f"{name}.weight": weight for name, weight in weights.items()}
    rows = x.reshape(1, -1, d_model)
    out: Tensor = torch.func.functional_call(layer, parameters, (rows,))
    return out.reshape(x.shape)


# -- parts -----------------------------------------------------------------------------------------


PARTS = (
    near_part(
        "values",
        "The result is contract (silu(expand x) · gate x), for every vector.",
        draw_positions,
        call_after_training,
        6,
    ),
    near_part(
        "positions",
        "Each position is transformed by itself: no other position plays a part.",
        draw_neighbours,
        change_one_position,
        1,
        saying(
            "a change at one position makes results at others other ones, or nan",
            "where the vector of a position changes, its own result stays as it was",
            "a position alone has another result than beside others, or nan",
        ),
    ),
    near_part(
        "extremes",
        "Units near 1000 and near -1000 give a finite and right result.",
        draw_extremes,
        call,
        0.5,
    ),
    any_layout(draw_layouts, 0.5, CONTRACT),
    near_part(
        "gradients",
        "Gradients flow to x and to all three weights; they are right, and always finite.",
        draw_for_gradients,
        differentiate,
        1,
    ),
    *keeps(draw_positions, draw_hard_cases),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_positions(rng)[3:4], "rows")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, weights):
    """The answer that the mistakes start from."""
    hidden = x @ weights["expand"].T
    gate = x @ weights["gate"].T
    activated = hidden * torch.sigmoid(hidden)
    return (activated * gate) @ weights["contract"].T


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. A matrix product takes "
    "all vectors of a tensor at once: `x @ weight.T`."
)
def position_by_position(x, weights):
    """A loop goes from position to position."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        hidden = weights["expand"] @ row
        rows.append(weights["contract"] @ (F.silu(hidden) * (weights["gate"] @ row)))
    return torch.stack(rows).reshape(x.shape) if rows else x.clone()


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The activation is on the other projection.",
        replace={
            "hidden * torch.sigmoid(hidden)": "hidden",
            "(activated * gate)": "(activated * gate * torch.sigmoid(gate))",
        },
        hint="You activate the gate and leave the other projection linear. Here silu is on "
        "`expand`. LLaMA's files call that matrix `gate_proj`: only the names differ.",
        keeps=0.5,
    ),
    mistake(
        "A sigmoid takes the place of silu, as in the gate of 2016.",
        replace={"hidden * torch.sigmoid(hidden)": "torch.sigmoid(hidden)"},
        hint="You activate by a sigmoid: that is GLU. In SwiGLU it is silu, z times its own "
        "sigmoid.",
        keeps=0.5,
    ),
    mistake(
        "GELU takes the place of silu.",
        replace={"hidden * torch.sigmoid(hidden)": "F.gelu(hidden)"},
        hint="You activate by GELU, so your layer is GEGLU. It is about as good, but other weights "
        "belong to it: silu(z) is z times the sigmoid of z.",
        keeps=0.5,
    ),
    mistake(
        "ReLU takes the place of silu.",
        replace={"hidden * torch.sigmoid(hidden)": "torch.relu(hidden)"},
        hint="You activate by ReLU. silu(z) is z times the sigmoid of z: smooth, and a little "
        "below 0 for negative z.",
        keeps=0.5,
    ),
    mistake(
        "The sigmoid inside silu is steeper, as in an approximation of GELU.",
        replace={"torch.sigmoid(hidden)": "torch.sigmoid(1.702 * hidden)"},
        hint="There is a factor of 1.702 inside your sigmoid. That is a fast approximation of "
        "GELU; silu has no factor.",
        keeps=0.5,
    ),
    mistake(
        "There is no activation.",
        replace={"hidden * torch.sigmoid(hidden)": "hidden"},
        hint="You have no activation. Then each unit is a product of two linear ones, and nothing "
        "keeps it from going through 0 on both sides alike: silu(expand x).",
    ),
    mistake(
        "The gate is left out.",
        replace={"(activated * gate)": "activated"},
        hint="You leave out the gate. The activated units are multiplied, entry by entry, by a "
        "second projection of x, which is linear.",
    ),
    mistake(
        "The gate is added, not multiplied.",
        replace={"activated * gate": "activated + gate"},
        hint="You add the gate. A gate multiplies: it says how much of each unit is let through.",
    ),
    mistake(
        "Both projections are activated.",
        replace={"activated * gate": "activated * F.silu(gate)"},
        hint="You activate both projections. Only `expand` goes through silu; the gate stays "
        "linear.",
        keeps=0.5,
    ),
    mistake(
        "The product of both projections is activated.",
        replace={
            "hidden * torch.sigmoid(hidden)": "F.silu(hidden * gate)",
            "(activated * gate)": "activated",
        },
        hint="You multiply first and activate the product. The activation comes first, on "
        "`expand` alone, and then the gate multiplies.",
        keeps=0.3,
    ),
    mistake(
        "The activation comes after the contraction.",
        replace={
            "hidden * torch.sigmoid(hidden)": "hidden",
            '(activated * gate) @ weights["contract"].T': (
                'F.silu((activated * gate) @ weights["contract"].T)'
            ),
        },
        hint="You activate what comes out at the end. The activation belongs inside, where the "
        "layer is wide; the result of the layer is linear in the units.",
        keeps=0.3,
    ),
    mistake(
        "The input is added to the result.",
        replace={"return (": "return x + ("},
        hint="You add x to the result. The residual connection is the block's business: this layer "
        "returns only what is to be added.",
        keeps=0.5,
    ),
    mistake(
        "The gate sees the mean of all positions.",
        replace={"gate = x @": "gate = (x.mean(dim=-2, keepdim=True) if x.dim() > 1 else x) @"},
        hint="Your gate depends on the other positions. This layer transforms each position by "
        "itself; only attention may look at others.",
    ),
    mistake(
        "silu is written with an exponential that overflows in its gradient.",
        replace={"hidden * torch.sigmoid(hidden)": "hidden / (1 + torch.exp(-hidden))"},
        hint="The values are right. But for units far below 0 the gradient is nan, as it is where "
        "an exponential becomes infinite. `torch.sigmoid` takes care of that.",
    ),
    mistake(
        "silu is written with exponentials that overflow.",
        replace={
            "hidden * torch.sigmoid(hidden)": "hidden * torch.exp(hidden) / (1 + torch.exp(hidden))"
        },
        hint="For units of ordinary size you are right. The exponential of 1000 is infinite, and "
        "infinite over infinite is nan: use `torch.sigmoid`.",
    ),
    mistake(
        "No gradient flows through the gate.",
        replace={"activated * gate": "activated * gate.detach()"},
        hint="The values are right, but you detach the gate, so its weight would never learn.",
    ),
    mistake(
        "Something is kept in the dict of the caller.",
        replace={
            'hidden = x @ weights["expand"].T': """
                hidden = x @ weights["expand"].T
                weights["hidden"] = hidden.detach()
            """
        },
        hint="The result is right, but afterwards the caller's dict holds something else than "
        "before. Keep what you need in names of your own.",
    ),
    mistake(
        "Everything is computed in float32, whatever was given.",
        replace={"(activated * gate)": "(activated * gate).float().to(x.dtype)"},
        hint="For float64 you lose half of the digits: somewhere you go over to float32. Compute "
        "in the dtype of x.",
    ),
    position_by_position,
)

CHECK = Check(
    item="ps5_feed_forward",
    points=10,
    target="feed_forward",
    reference=feed_forward,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
