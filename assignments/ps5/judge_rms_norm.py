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
        hint="An answer that leaves eps out, or puts it in another place, passes your test. That "
        "shows only where eps is of the size of the squares: it may be any number above 0.",
    ),
    mistake(
        "All weights are 1.",
        replace={"torch.randn(4, generator": "torch.ones(4) + 0 * torch.randn(4, generator"},
        hint="An answer that leaves the weight out passes your test. That shows only where weights "
        "are not all 1, as they are in a new layer: take some that differ.",
    ),
    mistake(
        "There is one vector.",
        replace={"torch.randn(3, 4": "torch.randn(1, 4"},
        hint="An answer that averages the squares over all vectors at once passes your test. That "
        "shows only where there are several, of different lengths: try those.",
    ),
    mistake(
        "No float16 is tried.",
        replace={", (x.half() * 300, weight.half(), 0.5)": ""},
        hint="Implementations that are wrong in float16 alone pass your test: in one the squares "
        "overflow, the other returns float32. The contract speaks of both: try large numbers.",
    ),
    mistake(
        "The dtype is not looked at.",
        replace={
            "found.dtype != right.dtype or not torch.allclose(found, right, rtol=0.01)": (
                "not torch.allclose(found.double(), right.double(), rtol=0.01)"
            )
        },
        hint="An answer that returns float32 for float16 passes your test. The result has the "
        "dtype of x, also where something was computed in another: compare the dtypes.",
    ),
    mistake(
        "The last bit must agree.",
        replace={"torch.allclose(found, right, rtol=0.01)": "torch.equal(found, right)"},
        hint="Your test refuses every right implementation. They compute in another order and "
        "round otherwise, and in half precision two digits are asked for: allow for a difference.",
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
