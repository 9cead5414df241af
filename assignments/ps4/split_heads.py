"""The task "split into heads"."""

import torch  # noqa: F401  (read by a replacement)
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near_part,
    normal,
    tensor_case,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*texts T D; -")


def _case(rng: Generator, shape: tuple[int, ...], n_heads: int, dtype: str = "float64") -> Case:
    label = f"shape {shape}, n_heads {n_heads}"
    return tensor_case(label, dtype, normal(rng, dtype, *shape), n_heads)


def draw_batches(rng: Generator) -> list[Case]:
    """A batch of texts, heads of several numbers."""
    return [
        _case(rng, (1, 2, 4), 2),
        _case(rng, (2, 3, 8), 2),
        _case(rng, (3, 5, 12), 4, "float32"),
        _case(rng, (2, 4, 6), 2),
        _case(rng, (3, 3, 9), 3),
        _case(rng, (2, 3, 16), 8),
    ]


def draw_sizes(rng: Generator) -> list[Case]:
    """One head, heads of one number, one place, one text."""
    return [
        _case(rng, (2, 3, 5), 1),
        _case(rng, (2, 3, 4), 4),
        _case(rng, (1, 1, 6), 3),
        _case(rng, (3, 1, 1), 1),
    ]


def draw_axes(rng: Generator) -> list[Case]:
    """No leading axis, or several."""
    shapes = [((3, 4), 2), ((2, 3, 5, 6), 3), ((2, 1, 3, 4, 8), 2), ((3, 5), 1), ((2, 3, 4, 5), 1)]
    shapes += [((1, 2, 3, 2, 6), 3), ((1, 1, 1, 2, 4), 2)]
    return [_case(rng, shape, n_heads) for shape, n_heads in shapes]


# -- the reference version -------------------------------------------------------------------------


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Split like the package's attention, for any number of leading axes."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Each head has its own stretch of the numbers of every place: (B, H, T, K).",
        draw_batches,
        call,
        5,
    ),
    near_part("sizes", "One head, one number a head and one place will do.", draw_sizes, call, 1),
    near_part("axes", "There may be no leading axis, or several.", draw_axes, call, 1.5),
    near_part("gradients", FLOWS, draw_batches, differentiate, 0.5),
    any_layout(draw_batches, 1, CONTRACT),
    *keeps(draw_batches, lambda rng: draw_axes(rng)[-2:]),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, n_heads):
    """The answer that the mistakes start from."""
    *axes, n_places, width = x.shape
    heads = x.reshape(*axes, n_places, n_heads, width // n_heads)
    return heads.transpose(-3, -2)


@mistake(
    hint="You make several axes of one with `view`, which needs all numbers in one block of "
    "memory. After a transpose they are not: `reshape` and `unflatten` copy where they must."
)
def view_only(x, n_heads):
    """A view is asked of a tensor that is no contiguous block."""
    *axes, n_places, width = x.shape
    return x.view(-1).view(*axes, n_places, n_heads, width // n_heads).transpose(-3, -2)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The shape is right, but places and heads are mixed up.",
        replace={
            "n_places, n_heads, width // n_heads)": "n_heads, n_places, width // n_heads)",
            "heads.transpose(-3, -2)": "heads",
        },
        hint="You reshape straight to (B, H, T, K). The shape is right, but a head then gets "
        "stretches of several places. First split the last axis, then transpose.",
    ),
    mistake(
        "Places come before heads.",
        replace={"heads.transpose(-3, -2)": "heads"},
        hint="You split the last axis but leave the heads behind the places. Attention works on "
        "the last two axes, so these must be places and features: transpose.",
        keeps=0.5,
    ),
    mistake(
        "Each head gets every H-th number.",
        replace={
            "n_places, n_heads, width // n_heads)": "n_places, width // n_heads, n_heads)",
            "heads.transpose(-3, -2)": "heads.movedim(-1, -3)",
        },
        hint="You deal the numbers out like cards: a head gets every H-th one. Each head has a "
        "stretch of neighbours, the first head the first stretch.",
    ),
    mistake(
        "The features come before the places.",
        replace={"heads.transpose(-3, -2)": "heads.movedim(-3, -1)"},
        hint="Your last axis holds places. Inside each head the shape is (T, K): first places, "
        "then features.",
        keeps=0.3,
    ),
    mistake(
        "The number of heads is used as their width.",
        replace={"n_heads, width // n_heads)": "width // n_heads, n_heads)"},
        hint="You make as many heads as each should have numbers. There are n_heads heads, each "
        "D / n_heads wide.",
    ),
    mistake(
        "The heads are in reverse.",
        replace={"heads.transpose(-3, -2)": "heads.transpose(-3, -2).flip(-3)"},
        hint="Your heads come in reverse. The first head has the first stretch of the numbers.",
        keeps=0.5,
    ),
    mistake(
        "The places are split, not the features.",
        replace={
            "x.reshape(*axes, n_places, n_heads, width // n_heads)": (
                "torch.stack(x.tensor_split(n_heads, dim=-2), dim=-3)"
            ),
            "heads.transpose(-3, -2)": "heads",
        },
        hint="You cut the text into pieces, one for each head. Every head sees all places, but "
        "only its own part of the numbers there.",
    ),
    mistake(
        "The heads are folded into the batch.",
        replace={"heads.transpose(-3, -2)": "heads.transpose(-3, -2).flatten(0, -3)"},
        hint="You fold the heads into the batch. The contract asks for an axis of their own, "
        "before the places.",
        keeps=0.5,
    ),
    mistake(
        "The heads are the first axis.",
        replace={"heads.transpose(-3, -2)": "heads.movedim(-2, 0)"},
        hint="Your heads come before the batch. They belong right before the places: "
        "(..., H, T, K).",
        keeps=0.5,
    ),
    mistake(
        "Every head gets all numbers.",
        replace={
            "x.reshape(*axes, n_places, n_heads, width // n_heads)": (
                "x.unsqueeze(-2).repeat_interleave(n_heads, -2)"
            )
        },
        hint="You give every head all D numbers. They are shared out: each head gets D / n_heads "
        "of them.",
    ),
    mistake(
        "Axes are counted from the left.",
        replace={"heads.transpose(-3, -2)": "heads.transpose(1, 2)"},
        hint="You swap the axes 1 and 2. With more leading axes, or none, these are others: count "
        "from the right.",
    ),
    mistake(
        "There must be exactly one leading axis.",
        replace={
            "*axes, n_places, width = x.shape": "first, n_places, width = x.shape\naxes = [first]"
        },
        hint="You take the shape apart into exactly three numbers. There may be more leading axes, "
        "or none.",
    ),
    mistake(
        "The heads are cut from the graph.",
        replace={"heads.transpose": "heads.detach().transpose"},
        hint="You detach the heads, so that no gradient reaches x. Splitting only rearranges "
        "numbers; gradients flow through.",
    ),
    view_only,
)

CHECK = Check(
    item="ps4_split_heads",
    points=5,
    target="split_heads",
    reference=split_heads,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)  →  "
        "return x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)": (
            "two axes are exchanged, whichever is named first"
        ),
    },
)
