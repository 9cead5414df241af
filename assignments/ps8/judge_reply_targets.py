"""The task "judge the assistant": tell right implementations of reply_targets from wrong ones."""

import torch

from autograder.authoring.checks import Check, mistake, mistakes
from autograder.authoring.judging import CHANCE, implementations

from . import reply_targets as judged
from .reply_targets import right_answer as reply_targets

# -- parts -----------------------------------------------------------------------------------------

PARTS = implementations(
    judged.CHECK,
    right=[
        "Turns the ids round; what comes from the beginning is always hidden.",
        "Hides what is no reply where it stands, and shifts afterwards.",
        "Looks each next id up.",
        "roll",
        "arithmetic",
    ],
    wrong=[
        "A position's target is its own id.",
        "The mask is not shifted with the ids.",
        "Prompts are targets, too.",
        "Padding is a target, too.",
        "The end of the reply is no target.",
        "One place behind the reply is a target.",
        "The first id of the reply is no target.",
        "The last id of the prompt is a target.",
        "What has the padding's id is no target.",
        "All prompts are as long as the first.",
        "Nothing is ignored: where there is no target stands 0.",
    ],
    setup="import torch\nfrom torch.nn import functional as F\nIGNORE = -100",
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(implementation):
    """The answer that the mistakes start from."""
    pairs = torch.tensor([(p, n) for n in range(1, 6) for p in range(1, n + 1)])
    ids = torch.arange(5 * len(pairs)).reshape(-1, 5) % 7
    try:
        return torch.equal(implementation(ids, *pairs.T), reply_targets(ids, *pairs.T))
    except Exception:
        return False


MISTAKES = mistakes(
    right_answer,
    mistake(
        "No row has padding.",
        replace={"for n in range(1, 6)": "for n in [5]"},
        hint="An answer that trains on padding, or on the place behind the reply, passes your "
        "test. That shows only where a row is shorter than the batch: try such rows.",
    ),
    mistake(
        "All prompts have the same length.",
        replace={"for p in range(1, n + 1)": "for p in [1]"},
        hint="An answer that trains on prompts, or on their last id, or takes the first one's "
        "length for all, passes your test. Try prompts of several ids, of different lengths.",
    ),
    mistake(
        "Only the shape of the targets is looked at.",
        replace={
            "torch.equal(implementation(ids, *pairs.T), reply_targets(ids, *pairs.T))": (
                "implementation(ids, *pairs.T).shape == ids.shape"
            )
        },
        hint="Your test accepts all implementations, the wrong ones as well. Which id stands "
        "where, and what is ignored, is all that the task is about: compare the numbers.",
    ),
    mistake(
        "What is ignored is not looked at.",
        replace={
            "return torch.equal(implementation(ids, *pairs.T), reply_targets(ids, *pairs.T))": (
                "right = reply_targets(ids, *pairs.T)\n"
                "return bool((implementation(ids, *pairs.T) == right)[right >= 0].all())"
            )
        },
        hint="Implementations that make targets of prompts and padding pass your test. What is "
        "*not* to be learned is the other half: look at those places, too.",
    ),
    mistake(
        "What is right is refused.",
        replace={"return torch.equal": "return not torch.equal"},
        hint="Your test says True of what is wrong, and False of what is right. True is for an "
        "implementation that gives the targets that the task asks for.",
    ),
)

CHECK = Check(
    item="ps8_judge_reply_targets",
    points=6,
    target="judge_reply_targets",
    reference=right_answer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    chance=CHANCE,
)
