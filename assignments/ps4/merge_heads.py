"""The task "join the heads"."""

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

CONTRACT = Contract("*texts H T K")


def _case(rng: Generator, shape: tuple[int, ...], dtype: str = "float64") -> Case:
    return tensor_case(f"shape {shape}", dtype, normal(rng, dtype, *shape))


def draw_batches(rng: Generator) -> list[Case]:
    """A batch of texts, heads of several numbers."""
    return [
        _case(rng, (1, 2, 3, 2)),
        _case(rng, (2, 3, 4, 5)),
        _case(rng, (3, 4, 2, 3), "float32"),
        _case(rng, (3, 3, 3, 3)),
        _case(rng, (2, 2, 5, 4)),
        _case(rng, (2, 8, 3, 2)),
    ]


def draw_sizes(rng: Generator) -> list[Case]:
    """One head, heads of one number, one place, one text."""
    return [
        _case(rng, (2, 1, 3, 5)),
        _case(rng, (2, 3, 4, 1)),
        _case(rng, (1, 3, 1, 2)),
        _case(rng, (1, 1, 1, 1)),
    ]


def draw_axes(rng: Generator) -> list[Case]:
    """No leading axis, or several."""
    return [
        _case(rng, (2, 3, 4)),
        _case(rng, (2, 3, 2, 4, 5)),
        _case(rng, (2, 1, 2, 3, 2, 4)),
        _case(rng, (2, 5, 1, 3, 4)),
        _case(rng, (1, 3, 4)),
        _case(rng, (1, 2, 3, 2, 3, 2)),
        _case(rng, (1, 1, 1, 3, 2, 2)),
    ]


# -- the reference version -------------------------------------------------------------------------


def merge_heads(heads: Tensor) -> Tensor:
    """Join like the package's attention, for any number of leading axes."""
    return heads.transpose(-3, -2).flatten(-2)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Each place has the numbers of all its heads, side by side: (B, T, H·K).",
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


def right_answer(heads):
    """The answer that the mistakes start from."""
    *axes, n_heads, n_places, width = heads.shape
    side_by_side = heads.transpose(-3, -2)
    return side_by_side.reshape(*axes, n_places, n_heads * width)


@mistake(
    hint="After your transpose the numbers are no longer in one block of memory, and `view` needs "
    "them so. `reshape` and `flatten` copy where they must."
)
def view_only(heads):
    """A view is asked of the transposed heads."""
    *axes, n_heads, n_places, width = heads.shape
    return heads.transpose(-3, -2).view(*axes, n_places, n_heads * width)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The shape is right, but places and heads are mixed up.",
        replace={"heads.transpose(-3, -2)": "heads"},
        hint="You reshape without a transpose. The shape is right, but a place then gets numbers "
        "of other places. First move the heads after the places.",
    ),
    mistake(
        "The numbers of the heads are interleaved.",
        replace={"heads.transpose(-3, -2)": "heads.movedim(-3, -1)"},
        hint="You interleave the heads: first the first number of each, then the second. Each "
        "head's numbers stay together.",
    ),
    mistake(
        "The heads are added up.",
        replace={
            "side_by_side.reshape(*axes, n_places, n_heads * width)": "side_by_side.sum(dim=-2)"
        },
        hint="You add the heads up. They stand side by side, so that the next matrix can tell them "
        "apart.",
    ),
    mistake(
        "The mean of the heads is taken.",
        replace={
            "side_by_side.reshape(*axes, n_places, n_heads * width)": "side_by_side.mean(dim=-2)"
        },
        hint="You take the mean of the heads. They stand side by side, so that nothing of what "
        "each has found is lost.",
    ),
    mistake(
        "Only the first head is kept.",
        replace={
            "side_by_side.reshape(*axes, n_places, n_heads * width)": "side_by_side[..., 0, :]"
        },
        hint="You return the first head alone. All heads stand side by side.",
    ),
    mistake(
        "The heads are in reverse.",
        replace={"heads.transpose(-3, -2)": "heads.flip(-3).transpose(-3, -2)"},
        hint="Your heads come in reverse. The first head's numbers come first.",
        keeps=0.5,
    ),
    mistake(
        "The heads are joined behind each other, as if they were places.",
        replace={
            "side_by_side.reshape(*axes, n_places, n_heads * width)": (
                "heads.reshape(*axes, n_heads * n_places, width)"
            ),
        },
        hint="You put the heads one after another, so that there are H times as many places. Join "
        "them along the features.",
    ),
    mistake(
        "Features come before places.",
        replace={
            "n_heads * width)": "n_heads * width).transpose(-2, -1)",
        },
        hint="Your last axis holds places. Places come first, then all features of a place: "
        "(..., T, H·K).",
        keeps=0.3,
    ),
    mistake(
        "The axis of the heads is still there.",
        replace={"side_by_side.reshape(*axes, n_places, n_heads * width)": "side_by_side"},
        hint="You move the heads after the places, but leave them as an axis of their own. Make "
        "one axis of heads and features.",
        keeps=0.5,
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
            "*axes, n_heads, n_places, width = heads.shape": """
                first, n_heads, n_places, width = heads.shape
                axes = [first]
            """
        },
        hint="You take the shape apart into exactly four numbers. There may be more leading axes, "
        "or none.",
    ),
    mistake(
        "The result is cut from the graph.",
        replace={"heads.transpose": "heads.detach().transpose"},
        hint="You detach the heads, so that no gradient reaches them. Joining only rearranges "
        "numbers; gradients flow through.",
    ),
    view_only,
)

CHECK = Check(
    item="ps4_merge_heads",
    points=5,
    target="merge_heads",
    reference=merge_heads,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "return heads.transpose(-3, -2).flatten(-2)  →  "
        "return heads.transpose(-2, -3).flatten(-2)": (
            "two axes are exchanged, whichever is named first"
        ),
    },
)
