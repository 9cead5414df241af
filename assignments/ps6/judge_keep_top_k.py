"""The task "judge the assistant": tell right implementations of keep_top_k from wrong ones."""

import torch

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import keep_top_k as judged
from .keep_top_k import right_answer as keep_top_k

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "The k-th largest is the (V - k + 1)-th smallest.",
        "An id stays if fewer than k have a larger logit.",
        "minus topk of minus",
        "rank",
        "every pair",
    ],
    wrong=[
        "What is cut off becomes 0.",
        "What is cut off becomes a large negative number.",
        "The k smallest stay.",
        "One more than k stays.",
        "The smallest of the k is cut off, too.",
        "All rows share one limit.",
        "The limit of the first row is used for all.",
        "A k above V is refused.",
        "The first axis is cut instead of the last.",
        "Exactly k stay, even if others are equal.",
        "Equal logits count once.",
        "The result is float32, whatever was given.",
    ],
    setup="import math\nimport torch\nfrom torch.nn import functional as F\nINF = math.inf",
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    logits = torch.randn(4, 6, generator=torch.Generator().manual_seed(0)).mul(2).round()
    calls = [(logits, k) for k in (1, 2, 3, 4, 5, 6, 8)] + [(logits.double(), 3)]
    try:
        pairs = [(implementation(*call), keep_top_k(*call)) for call in calls]
        return all(torch.equal(a, b) and a.dtype == b.dtype for a, b in pairs)
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "No two logits are equal.",
        replace={".mul(2).round()": ""},
        hint="An answer that keeps exactly k of equal logits, or counts equal ones once, passes "
        "your test. The contract says what becomes of them: round your logits, or write some by "
        "hand.",
    ),
    mistake(
        "There is one row.",
        replace={"randn(4, 6,": "randn(1, 6,"},
        hint="One limit for all rows passes your test, and so do two mistakes about equal logits. "
        "Try several rows, of different sizes, and equal logits in them.",
    ),
    mistake(
        "No k is above V.",
        replace={", 6, 8)": ", 6)"},
        hint="An answer that refuses a k above V passes your test. The contract allows it, and "
        "then all stay: ask for more than a row has.",
    ),
    mistake(
        "It is not looked at what stands where something is cut off.",
        replace={
            "torch.equal(a, b)": "torch.equal(a > -9, b > -9)",
        },
        hint="A large negative number in the place of minus infinity passes your test. Compare "
        "what stands where something is cut off, and not only what is left.",
    ),
    mistake(
        "The dtype of the result is not looked at.",
        replace={" and a.dtype == b.dtype": ""},
        hint="A result that is always float32 passes your test. It has the dtype of the logits; "
        "`torch.equal` and `allclose` compare numbers, and may say nothing of it.",
    ),
    mistake(
        "One call that agrees is enough.",
        replace={"all(torch": "any(torch"},
        hint="Your test accepts most wrong implementations, each of which is right in some call. "
        "One is wrong if it is wrong anywhere: every call must agree.",
    ),
)

CHECK = Check(
    item="ps6_judge_keep_top_k",
    points=6,
    target="judge_keep_top_k",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
