"""The task "judge the assistant": tell right implementations of cross_entropy from wrong ones."""

import torch

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import cross_entropy as judged
from .cross_entropy import right_answer as cross_entropy

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "Goes from row to row.",
        "logaddexp fold",
        "sum over count",
        "differences to the target",
        "where on rows",
    ],
    wrong=[
        "The largest score is not subtracted, so exponentials overflow.",
        "The logarithm is taken of a probability that has been rounded to 0.",
        "A small number is added to the probability, so that no loss is large.",
        "One maximum for all rows is subtracted, instead of each row's own.",
        "The sum is divided by the number of all rows.",
        "The mean is taken over one row too many.",
        "The losses are summed up, not averaged.",
        "Every row counts, also those to be ignored.",
        "Negative targets are ignored, whatever ignore_index is.",
        "Without any row that counts the loss is 0 / 0.",
        "The loss is in bits, not in nats.",
        "The sign is wrong: the mean log-probability is returned.",
        "The scores are normalised over the rows instead of over the vocabulary.",
    ],
    setup="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    chance = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 4, generator=chance, dtype=torch.float64)
    some, none = torch.tensor([3, -100, 0, -100, 1, 3]), torch.full((6,), -100)
    ids = torch.tensor([3, 1, 0, 2, 1, 3])
    calls = [(logits, some, -100), (logits, ids, 1), (logits, none, -100)]
    calls += [(logits * 1000, ids, -100)]
    try:
        return all(torch.allclose(implementation(*c), cross_entropy(*c)) for c in calls)
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Only small scores are tried.",
        replace={"logits * 1000": "logits * 2"},
        hint="Implementations that break on large scores, or on scores that are far apart, pass "
        "your test. The contract allows both: try scores in the thousands, in each row others.",
    ),
    mistake(
        "What is to be ignored is always negative.",
        replace={"ids, 1)": "ids, -100)"},
        hint="An answer that ignores all negative targets, whatever ignore_index is, passes your "
        "test. The contract lets it be one of the ids as well: try that.",
    ),
    mistake(
        "Something always counts.",
        replace={", (logits, none, -100)": ""},
        hint="An answer that divides 0 by 0 where no row counts passes your test. The contract "
        "says what the loss is then: try it, and remember that nan equals nothing.",
    ),
    mistake(
        "Nothing is ever ignored.",
        replace={
            "(logits, some, -100), (logits, ids, 1), (logits, none, -100)": "(logits, ids, -100)"
        },
        hint="Implementations that are wrong about what is ignored pass your test. Most that can "
        "go wrong in a mean goes wrong there: ignore some of the targets, and all of them.",
    ),
    mistake(
        "One call that agrees is enough.",
        replace={"all(torch": "any(torch"},
        hint="Your test accepts nearly all implementations, the wrong ones as well. One is wrong "
        "if it is wrong anywhere: each of your calls must give the right loss.",
    ),
    mistake(
        "A mean over one row too many is let pass.",
        replace={"cross_entropy(*c))": "cross_entropy(*c), rtol=0.3)"},
        hint="A mean over one row too many passes your test, and so does who ignores all negative "
        "targets. Try few rows, allow for rounding alone, and ignore one of the ids.",
    ),
    mistake(
        "The last bit must agree.",
        replace={"torch.allclose": "torch.equal"},
        hint="Your test refuses a right implementation. Right ones may add up in another order and "
        "round otherwise, so the last digits may differ: allow for a small difference.",
    ),
)

CHECK = Check(
    item="ps3_judge_cross_entropy",
    points=6,
    target="judge_cross_entropy",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
