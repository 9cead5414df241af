"""The task "cross-entropy"."""

import math  # noqa: F401  (read by a replacement)
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed

from ..contracts import Contract
from ..tensors import FLOWS, Generator, any_layout, call, differentiate, keeps, near_part
from .inputs import (
    LOSSES,
    draw_extremes,
    draw_hard_losses,
    draw_ignored,
    draw_losses,
    package_cross_entropy,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("N V; N; -")


def draw_all_losses(rng: Generator) -> list[Case]:
    """A few of each kind."""
    return [*draw_losses(rng)[1:3], *draw_ignored(rng)[:5], *draw_extremes(rng)[-3:]]


# -- the reference version -------------------------------------------------------------------------


def cross_entropy(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    """Ask the package, in a thread of its own.

    The probes watch which functions of torch an answer calls, in their own thread. The package may
    call some that students are to write out.
    """
    with ThreadPoolExecutor(1) as other_thread:
        return other_thread.submit(package_cross_entropy, logits, targets, ignore_index).result()


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "The loss is the mean of minus the log-probability of each target.",
        draw_losses,
        call,
        11,
    ),
    near_part(
        "ignored",
        "Ignored rows do not count, neither in the sum nor in the number to divide by.",
        draw_ignored,
        call,
        2,
    ),
    near_part(
        "extremes",
        "Logits far from 0, or far from each other, give a finite and right loss.",
        draw_extremes,
        call,
        2,
    ),
    near_part("gradients", FLOWS, draw_all_losses, differentiate, 1),
    any_layout(draw_losses, 0.5, CONTRACT),
    *keeps(draw_losses, draw_hard_losses),
    not_allowed(LOSSES, draw_losses),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(logits, targets, ignore_index):
    """The answer that the mistakes start from."""
    counts = targets != ignore_index
    logits, targets = logits[counts], targets[counts]
    shifted = logits - logits.max(dim=-1, keepdim=True).values
    chosen = shifted[torch.arange(len(targets)), targets]
    return (shifted.exp().sum(dim=-1).log() - chosen).sum() / max(len(targets), 1)


@mistake(
    hint="You normalise over the rows. The scores of one row compete with each other: sum over "
    "the last axis, which is the vocabulary.",
)
def softmax_over_rows(logits, targets, ignore_index):
    """The scores are normalised over the rows instead of over the vocabulary."""
    counts = targets != ignore_index
    logits, targets = logits[counts], targets[counts]
    if len(targets) == 0:
        return logits.sum()
    shifted = logits - logits.max(dim=0).values
    log_probs = shifted - shifted.exp().sum(dim=0).log()
    return -log_probs[torch.arange(len(targets)), targets].mean()


@mistake(
    hint="You call torch's own loss. It is right, of course; but this task is to write it. Start "
    "from `exp`, `sum` and `log`.",
)
def library_loss(logits, targets, ignore_index):
    """Torch's own function is called."""
    if not (targets != ignore_index).any():
        return 0 * logits.sum()
    return F.cross_entropy(logits, targets, ignore_index=ignore_index)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The largest score is not subtracted, so exponentials overflow.",
        replace={"logits - logits.max(dim=-1, keepdim=True).values": "logits"},
        hint="For ordinary scores you are right. But the exponential of a large score is "
        "infinite, and that of a very small one is 0: subtract the largest score of the row "
        "first.",
    ),
    mistake(
        "The logarithm is taken of a probability that has been rounded to 0.",
        replace={
            "logits - logits.max(dim=-1, keepdim=True).values": "torch.softmax(logits, dim=-1)",
            "(shifted.exp().sum(dim=-1).log() - chosen)": "-chosen.log()",
        },
        hint="You compute a probability and then its logarithm. An unlikely target has a "
        "probability that rounds to 0, and the logarithm of 0 is infinite. Stay in the logarithm.",
    ),
    mistake(
        "A small number is added to the probability, so that no loss is large.",
        replace={
            "logits - logits.max(dim=-1, keepdim=True).values": "torch.softmax(logits, dim=-1)",
            "(shifted.exp().sum(dim=-1).log() - chosen)": "-(chosen + 1e-9).log()",
        },
        hint="You add a small number before the logarithm. So no loss exceeds about 20, and what "
        "the model gets most wrong teaches it least. Stay in the logarithm instead.",
    ),
    mistake(
        "One maximum for all rows is subtracted, instead of each row's own.",
        replace={"(dim=-1, keepdim=True).values": "() if len(targets) else logits"},
        hint="You subtract one maximum from all rows. A row far below it still becomes all zeros: "
        "each row needs its own maximum. What does keepdim do?",
    ),
    mistake(
        "The sum is divided by the number of all rows.",
        replace={"max(len(targets), 1)": "len(counts)"},
        hint="You add up the right rows, but divide by the number of all rows. With much padding "
        "the loss looks small for no reason: divide by the rows that count.",
    ),
    mistake(
        "The mean is taken over one row too many.",
        replace={"max(len(targets), 1)": "(len(targets) + 1)"},
        hint="You divide by one more than the rows that count, so that it is never by 0. That "
        "makes every loss too small: divide by their number, and look at none of them apart.",
        keeps=0.5,
    ),
    mistake(
        "The losses are summed up, not averaged.",
        replace={" / max(len(targets), 1)": ""},
        hint="You return the sum. The loss is a mean, or it would grow with the size of the batch.",
        keeps=0.5,
    ),
    mistake(
        "Every row counts, also those to be ignored.",
        replace={"logits, targets = logits[counts], targets[counts]": ""},
        hint="Rows whose target is ignore_index count in your loss, or break it. Leave them out "
        "before you look up any target.",
    ),
    mistake(
        "Negative targets are ignored, whatever ignore_index is.",
        replace={"targets != ignore_index": "targets >= 0"},
        hint="You ignore targets below 0. But ignore_index may be any id, for example that of "
        "padding: compare with ignore_index itself.",
    ),
    mistake(
        "Without any row that counts the loss is 0 / 0.",
        replace={".sum() / max(len(targets), 1)": ".mean()"},
        hint="If no row counts, you divide 0 by 0 and return nan. One such batch would spoil all "
        "weights: the loss is 0 then.",
    ),
    mistake(
        "The loss is in bits, not in nats.",
        replace={"max(len(targets), 1)": "max(len(targets), 1) / math.log(2)"},
        hint="Your loss is in bits: it is larger by the factor 1 / ln 2. The contract asks for "
        "nats, so use the natural logarithm alone.",
        keeps=0.5,
    ),
    softmax_over_rows,
    mistake(
        "The sign is wrong: the mean log-probability is returned.",
        replace={
            "(shifted.exp().sum(dim=-1).log() - chosen)": (
                "(chosen - shifted.exp().sum(dim=-1).log())"
            ),
        },
        hint="You return the mean log-probability itself, which is negative. The loss is minus "
        "that: training makes it small.",
        keeps=0.5,
    ),
    mistake(
        "The loss is detached from its graph, so that nothing can be learned from it.",
        replace={"logits[counts]": "logits[counts].detach()"},
        hint="The number is right, but no gradient flows through your loss, so nothing can be "
        "learned from it. Do not detach, and do not turn tensors into Python's numbers.",
    ),
    library_loss,
    mistake(
        "The largest score is subtracted from the caller's own tensor.",
        replace={
            "counts = targets != ignore_index": """
                counts = targets != ignore_index
                with torch.no_grad():
                    logits -= logits.max(dim=-1, keepdim=True).values
            """,
        },
        hint="The loss is right, but you subtract the maximum from the caller's own tensor. Make "
        "a new one: `a - b` instead of `a -= b`.",
    ),
    mistake(
        "The loss is float64, whatever the dtype of the scores.",
        replace={"logits[counts]": "logits[counts].double()"},
        hint="The loss is right, but it is float64 where the scores are float32. You may compute "
        "in any dtype: return to that of the scores at the end.",
    ),
)

CHECK = Check(
    item="ps3_cross_entropy",
    points=12,
    target="cross_entropy",
    reference=cross_entropy,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
