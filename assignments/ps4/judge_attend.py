"""The task "judge the assistant": tell right implementations of attention from wrong ones."""

import torch

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import attend as judged
from .attend import attend

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "Goes query by query.",
        "Reads the keys one after another, and corrects what it has so far.",
        "recursion over leading axes",
        "exponentials by hand",
        "blind rows see all first",
    ],
    wrong=[
        "The scale is missing.",
        "The scale is taken from the width of the values.",
        "The softmax runs over the queries.",
        "The exponentials overflow.",
        "The mask is not used.",
        "The mask comes after the softmax, and the weights no longer sum to 1.",
        "The mask is taken from the first text for all of them.",
        "A row that may look nowhere takes the mean of all values.",
        "A row that may look nowhere is nan.",
        "Axes are counted from the left.",
        "There is no mask, and the function breaks.",
    ],
    setup="import math\nimport torch\nfrom torch.nn import functional as F",
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    chance = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(2, 3, *size, generator=chance, dtype=torch.float64)
        for size in ((4, 5), (6, 5), (6, 2))
    )
    mask = torch.rand(2, 1, 4, 6, generator=chance) < 0.5
    mask[..., 0] = True
    mask[0, ..., 1, :] = False
    cases = [(query, key, value), (query, key, value, mask), (query * 1000, key, value)]
    try:
        return all(torch.allclose(implementation(*case), attend(*case)) for case in cases)
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Only the shape of the result is looked at.",
        replace={
            "torch.allclose(implementation(*case), attend(*case))": (
                "implementation(*case).shape == attend(*case).shape"
            )
        },
        hint="Your test accepts almost everything. A wrong scale or a mask that is not used leave "
        "the shape as it is: compare the numbers.",
    ),
    mistake(
        "No mask is tried.",
        replace={" (query, key, value, mask),": ""},
        hint="Your test finds no mistake in what the mask does. Try masks, too; most of what can "
        "go wrong in attention goes wrong there.",
    ),
    mistake(
        "The function is never called without a mask.",
        replace={
            "(query, key, value), (query, key, value, mask), (query * 1000, key, value)": (
                "(query, key, value, mask), (query * 1000, key, value, mask)"
            )
        },
        hint="An implementation that breaks where no mask is given passes your test. The contract "
        "lets the mask be left out: call it in that way, too.",
    ),
    mistake(
        "Every query may look somewhere.",
        replace={"mask[0, ..., 1, :] = False": "mask[0, ..., 1, :] = True"},
        hint="An answer that gives a query that may look nowhere the mean of all values, or nan, "
        "passes your test. The contract says what it gets: try a mask with such a row.",
    ),
    mistake(
        "All texts have the same mask.",
        replace={
            "mask[0, ..., 1, :] = False": "mask[:] = mask[0].clone()\nmask[..., 1, :] = False"
        },
        hint="An answer that takes the first text's mask for all of them passes your test. That "
        "shows only where texts have different masks: give each its own.",
    ),
    mistake(
        "Only small scores are tried.",
        replace={", (query * 1000, key, value)": ""},
        hint="An implementation whose exponentials overflow passes your test. The largest score is "
        "not subtracted there: try queries that are a thousand times as large.",
    ),
    mistake(
        "Values are as wide as keys.",
        replace={"(6, 2)": "(6, 5)"},
        hint="An answer that takes the scale from the width of the values passes your test. That "
        "shows only where values and keys are not equally wide: give each axis a size of its own.",
    ),
    mistake(
        "Only tensors of three axes are tried.",
        replace={"torch.randn(2, 3, *size": "torch.randn(2, *size", "rand(2, 1, 4": "rand(2, 4"},
        hint="An answer that counts axes from the left passes your test. That shows only where "
        "there are more or fewer of them, as with heads: try tensors of two, three and four axes.",
    ),
    mistake(
        "The last bit must agree.",
        replace={"torch.allclose": "torch.equal"},
        hint="Your test refuses right implementations. They may add up in another order and round "
        "otherwise, so the last digits may differ: allow for a small difference.",
    ),
    mistake(
        "One case that agrees is enough.",
        replace={"all(torch": "any(torch"},
        hint="Your test accepts implementations that are right in some cases and wrong in others, "
        "as with a mask. One is wrong if it is wrong anywhere: every case must agree.",
    ),
)

CHECK = Check(
    item="ps4_judge_attend",
    points=6,
    target="judge_attend",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
