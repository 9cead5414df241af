"""The task "judge the assistant": tell right implementations of rms_norm from wrong ones."""

import torch

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import rms_norm as judged
from .rms_norm import right_answer as rms_norm

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "The root mean square is the vector's length over sqrt(D).",
        "The scale is the exponential of minus half a logarithm.",
        "plain",
        "vector norm",
        "table of dtypes",
    ],
    wrong=[
        "The mean is subtracted first, as in LayerNorm.",
        "The squares are summed up, not averaged.",
        "The mean of absolute values takes the place of the root mean square.",
        "The root is missing.",
        "Eps is added outside the root.",
        "Eps is missing.",
        "Eps is the least mean square, instead of being added to it.",
        "The weight is missing.",
        "The squares are averaged over the vectors, entry by entry.",
        "The squares are averaged over everything at once.",
        "The squares are computed in float16.",
        "The result of float16 stays float32.",
    ],
    setup="import torch\nfrom torch.nn import functional as F",
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    chance = torch.Generator().manual_seed(0)
    x, weight = torch.randn(3, 4, generator=chance), torch.randn(4, generator=chance)
    calls = [(x.double(), weight.double(), 0.5), (x.half() * 300, weight.half(), 0.5)]
    try:
        for call in calls:
            found, right = implementation(*call), rms_norm(*call)
            if found.dtype != right.dtype or not torch.allclose(found, right, rtol=0.01):
                return False
    except Exception:
        return False
    return True


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Eps is too small to be seen.",
        replace={"weight.double(), 0.5": "weight.double(), 1e-9"},
        hint="Your eps is so small that nobody sees what becomes of it. Choose one of the size of "
        "the numbers: it may be any that is above 0.",
    ),
    mistake(
        "All weights are 1.",
        replace={"torch.randn(4, generator": "torch.ones(4) + 0 * torch.randn(4, generator"},
        hint="Your weights are ones, as in a new layer. Then nobody sees whether they are used: "
        "take some that differ.",
    ),
    mistake(
        "There is one vector.",
        replace={"torch.randn(3, 4": "torch.randn(1, 4"},
        hint="You try one vector. Whoever averages over all of them is right for that: try "
        "several, of different lengths.",
    ),
    mistake(
        "No float16 is tried.",
        replace={", (x.half() * 300, weight.half(), 0.5)": ""},
        hint="You never try float16. The contract speaks of it for two reasons: squares that it "
        "does not hold, and what is returned.",
    ),
    mistake(
        "The dtype is not looked at.",
        replace={
            "found.dtype != right.dtype or not torch.allclose(found, right, rtol=0.01)": (
                "not torch.allclose(found.double(), right.double(), rtol=0.01)"
            )
        },
        hint="Your test does not look at the dtype of the result. It is that of x, also where "
        "something was computed in another.",
    ),
    mistake(
        "The last bit must agree.",
        replace={"torch.allclose(found, right, rtol=0.01)": "torch.equal(found, right)"},
        hint="You ask for the same numbers to the last bit. Right implementations compute in "
        "another order and round otherwise: allow for a small difference.",
    ),
)

CHECK = Check(
    item="ps5_judge_rms_norm",
    points=6,
    target="judge_rms_norm",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
