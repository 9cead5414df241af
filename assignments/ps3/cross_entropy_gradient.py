"""The task "the gradient of the loss"."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.rules import not_allowed

from ..contracts import Contract
from ..tensors import any_layout, call, keeps, near_part
from .inputs import (
    draw_extremes,
    draw_hard_losses,
    draw_ignored,
    draw_losses,
    package_cross_entropy,
)

CONTRACT = Contract("N V; N; -")

# -- the reference version -------------------------------------------------------------------------


def cross_entropy_gradient(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    """Differentiate the package's loss in a thread of its own, where the probes do not watch."""

    def differentiate() -> Tensor:
        with torch.inference_mode(False), torch.enable_grad():
            leaf = logits.clone().requires_grad_()
            loss = package_cross_entropy(leaf, targets.clone(), ignore_index)
            (gradient,) = torch.autograd.grad(loss, leaf)
        return gradient

    with ThreadPoolExecutor(1) as other_thread:
        return other_thread.submit(differentiate).result()


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "The gradient is that of the mean loss, in every logit.",
        draw_losses,
        call,
        7.5,
    ),
    near_part(
        "ignored",
        "Ignored rows have a gradient of 0, and do not count in the mean.",
        draw_ignored,
        call,
        2,
    ),
    near_part(
        "extremes",
        "Logits far from 0, or far from each other, give a finite and right gradient.",
        draw_extremes,
        call,
        1,
    ),
    any_layout(draw_losses, 0.5, CONTRACT),
    *keeps(draw_losses, draw_hard_losses),
    not_allowed(("cross_entropy", "nll_loss"), draw_losses, autograd=False),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(logits, targets, ignore_index):
    """The answer that the mistakes start from."""
    rows = (targets != ignore_index).nonzero().squeeze(-1)
    gradient = torch.zeros_like(logits)
    gradient[rows] = torch.softmax(logits[rows], dim=-1)
    gradient[rows, targets[rows]] -= 1
    return gradient / max(len(rows), 1)


@mistake(
    hint="You ask autograd for the derivative. The task is to write down the formula, and the "
    "grader calls you where autograd does not run.",
)
def by_autograd(logits, targets, ignore_index):
    """Autograd computes the derivative."""
    leaf = logits.clone().requires_grad_()
    counts = targets != ignore_index
    loss = F.cross_entropy(leaf, targets, ignore_index=ignore_index, reduction="sum")
    loss.backward()
    return leaf.grad / max(int(counts.sum()), 1)


@mistake(
    hint="You let torch.func find the derivative. It is right, of course; but the task is to "
    "write down the formula: the probabilities, minus 1 at the target.",
)
def by_transform(logits, targets, ignore_index):
    """torch.func computes the derivative."""

    def loss(scores):
        return F.cross_entropy(scores, targets, ignore_index=ignore_index, reduction="sum")

    counts = targets != ignore_index
    return torch.func.grad(loss)(logits) / max(int(counts.sum()), 1)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The gradient of the sum is returned, not of the mean.",
        replace={" / max(len(rows), 1)": ""},
        hint="This is the gradient of the sum. The loss is a mean, so its gradient is smaller: "
        "divide by the number of rows that count.",
        keeps=0.5,
    ),
    mistake(
        "The sum is divided by the number of all rows.",
        replace={"max(len(rows), 1)": "len(targets)"},
        hint="You divide by the number of all rows. The loss of task 3 is a mean over the rows "
        "that count, and so its gradient is divided by their number.",
    ),
    mistake(
        "The sign is wrong: target minus probability.",
        replace={"return gradient /": "return -gradient /"},
        hint="Your signs are reversed. If a score grows that is not the target's, the loss grows "
        "too: its gradient is positive.",
        keeps=0.5,
    ),
    mistake(
        "The target is not subtracted.",
        replace={"gradient[rows, targets[rows]] -= 1": ""},
        hint="Your gradient is the probability alone. At the target 1 has to be subtracted: its "
        "score should rise, and so its gradient is negative.",
        keeps=0.3,
    ),
    mistake(
        "Only the target's own logit has a gradient.",
        replace={
            "gradient[rows] = torch.softmax(logits[rows], dim=-1)": (
                "probs = torch.softmax(logits, dim=-1)"
            ),
            "-= 1": "= probs[rows, targets[rows]] - 1",
        },
        hint="Only the target's score has a gradient in your answer. But all other scores stand "
        "in the sum below the fraction: each has its probability as gradient.",
    ),
    mistake(
        "Ignored rows keep their probabilities as gradient.",
        replace={
            "gradient = torch.zeros_like(logits)": "",
            "gradient[rows] = torch.softmax(logits[rows], dim=-1)": (
                "gradient = torch.softmax(logits, dim=-1)"
            ),
        },
        hint="In rows that do not count you leave the probabilities. Their gradient must be 0, or "
        "they would still be learned from.",
    ),
    mistake(
        "Every row counts, also those to be ignored.",
        replace={"(targets != ignore_index).nonzero().squeeze(-1)": "torch.arange(len(targets))"},
        hint="You treat every row as one that counts. Look at ignore_index: those rows have a "
        "gradient of 0, and are not part of the mean.",
    ),
    mistake(
        "The scores are normalised over the rows instead of over the vocabulary.",
        replace={"=-1": "=0"},
        hint="You normalise over the rows. The scores of one row compete with each other: softmax "
        "belongs on the last axis.",
    ),
    mistake(
        "1 is subtracted in whole columns, because the rows are not named.",
        replace={"gradient[rows, targets[rows]]": "gradient[rows[:, None], targets[rows]]"},
        hint="You subtract 1 in whole columns, in rows of other targets too. Name the row of each "
        "target as well: two lists of indices, of the same length.",
    ),
    mistake(
        "The largest score is not subtracted, so exponentials overflow.",
        replace={
            "gradient[rows] = torch.softmax(logits[rows], dim=-1)": """
                powers = logits[rows].exp()
                gradient[rows] = powers / powers.sum(dim=-1, keepdim=True)
            """,
        },
        hint="For ordinary scores you are right, but the exponential of a large one is infinite. "
        "Use torch.softmax, or subtract the largest score of the row.",
    ),
    by_autograd,
    by_transform,
    mistake(
        "Without any row that counts all gradients are 0 / 0.",
        replace={"max(len(rows), 1)": "len(rows)"},
        hint="If no row counts you divide by 0, and every number becomes nan. The gradient is 0 "
        "then.",
    ),
    mistake(
        "The gradient is made in torch's default dtype, not in that of the logits.",
        replace={
            "torch.zeros_like(logits)": "torch.zeros(logits.shape)",
            "dim=-1)": "dim=-1).to(gradient.dtype)",
        },
        hint="The numbers are right, up to their dtype: you make the result in torch's default "
        "dtype. Make it like the logits that you are given.",
    ),
)

CHECK = Check(
    item="ps3_cross_entropy_gradient",
    points=12,
    target="cross_entropy_gradient",
    reference=cross_entropy_gradient,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
