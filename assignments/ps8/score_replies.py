"""The task "how likely is a reply?"."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.models.loss import nats_per_target
from course_pkg.training import objectives

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Draw,
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near_part,
    normal,
    tensor_case,
)
from ..token_ids import IGNORE

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T V; B T")


def _case(
    rng: Generator,
    rows: list[str],
    V: int,
    dtype: str = "float64",
    *,
    scale: float = 1.0,
    others: tuple[float, ...] = (),
    what: str = "",
) -> Case:
    """Choose targets by a pattern: "x" any id, "0" the least, "9" the largest, "." none.

    `others` are the logits of positions without a target, in turn.
    """
    shape = len(rows), len(rows[0])
    logits = normal(rng, dtype, *shape, V, scale=scale)
    targets = torch.full(shape, IGNORE)
    for row, letters in enumerate(rows):
        for t, letter in enumerate(letters):
            if letter != ".":
                targets[row, t] = {"0": 0, "9": V - 1}.get(letter, int(rng.choice(V)))
            elif others:
                turn = [others[(t + row + i) % len(others)] for i in range(V)]
                logits[row, t] = torch.tensor(turn)
    n = int((targets != IGNORE).sum())
    return tensor_case(f"logits of shape {(*shape, V)}, {n} targets{what}", dtype, logits, targets)


def draw_values(rng: Generator) -> list[Case]:
    """Replies of several lengths."""
    return [
        _case(rng, ["x"], 3),
        _case(rng, [".x0"], 4),
        _case(rng, [".xx9.", "..0x.", "x...."], 5),
        _case(rng, ["..xx9", "....x", ".0xxx"], 7, "float32"),
        _case(rng, [".....xx9x.x0..", "xx.9.x0..xx.x."], 31, "float32"),
    ]


def draw_uneven(rng: Generator) -> list[Case]:
    """Rows with many targets, with one, with none; all of them; targets that are 0."""
    return [
        _case(rng, ["xxx0", "...9"], 4, what=", uneven rows"),
        _case(rng, ["x.x0x", ".....", "..9.."], 6, "float32", what=", a row without any"),
        _case(rng, ["....", "....", "9.x."], 5, what=", two rows without any"),
        _case(rng, ["x0", "9x", "xx"], 4, what=", all positions"),
        _case(rng, [".00", "0.."], 3, what=", all targets 0"),
        _case(rng, ["x.", "0."], 1, what=", one id"),
    ]


def draw_hostile(rng: Generator) -> list[Case]:
    """Logits of other positions that would spoil everything that they touch."""
    rows = [".x.0", "..9x"]
    return [
        _case(rng, rows, 4, others=(math.nan,), what=", nan elsewhere"),
        _case(rng, rows, 5, others=(math.inf, -math.inf, 1.0), what=", inf elsewhere"),
        _case(rng, rows, 4, others=(-math.inf,), what=", -inf elsewhere"),
        _case(rng, rows, 4, "float32", others=(3e38, -3e38), what=", huge elsewhere"),
    ]


def draw_nothing(rng: Generator) -> list[Case]:
    """No position has a target."""
    return [
        _case(rng, ["..."], 4),
        _case(rng, ["....", "....", "...."], 5, "float32"),
        _case(rng, ["..", ".."], 3, others=(math.nan,), what=", nan everywhere"),
    ]


def draw_extremes(rng: Generator) -> list[Case]:
    """Logits of thousands, far apart."""
    return [
        _case(rng, ["x.0x", ".x9."], 6, scale=1e10, what=", logits near 1e10"),
        _case(rng, ["x.0x", ".x9."], 6, "float32", scale=3e3, what=", logits of thousands"),
        _case(rng, [".x.", "x.0"], 4, "float32", scale=300, what=", logits of hundreds"),
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary ones."""
    return [*draw_values(rng)[1:4], *draw_uneven(rng)[:3]]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_uneven(rng)[:4], *draw_hostile(rng)[1:], *draw_nothing(rng)[:2]]


def _taking(draw: Draw, take: int) -> Draw:
    """Make the same cases, in which one of the two results is looked at."""
    return lambda rng: [Case(c.label, {**c.inputs, "take": take}) for c in draw(rng)]


# -- probes ----------------------------------------------------------------------------------------


def differentiate_one(implementation, inputs):
    """Return the gradient of one of the results, weighted row by row."""
    import torch

    logits, targets = inputs["arguments"]
    leaf = logits.clone().requires_grad_()
    result = implementation(leaf, targets)[inputs["take"]]
    if not result.requires_grad:
        return "no gradient"
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).view_as(result)
    return torch.autograd.grad((result * weights).sum(), leaf, materialize_grads=True)[0]


# -- the reference version -------------------------------------------------------------------------


def score_replies(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Hand the logits that have a target to the package's functions, and 0 for all others."""
    has_target = targets != IGNORE
    clean = logits.masked_fill(~has_target.unsqueeze(-1), 0)
    loss = nats_per_target(clean[has_target], targets[has_target])
    return objectives.target_log_prob(clean, targets), loss


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "log probabilities",
        "The log probability of a row is the sum of ln p(target) over its targets.",
        _taking(draw_values, 0),
        call,
        4,
    ),
    near_part(
        "loss",
        "The loss is the mean of -ln p(target) over all targets of the batch.",
        _taking(draw_values, 1),
        call,
        3,
    ),
    near_part(
        "uneven rows",
        "Each target counts the same, and a row without targets has the log probability 0.",
        draw_uneven,
        call,
        2,
    ),
    near_part(
        "other positions",
        "What stands at positions without a target plays no part in the results.",
        draw_hostile,
        call,
        1,
    ),
    near_part(
        "gradients beside other positions",
        "What stands there plays no part in the gradients, which are 0 there.",
        draw_hostile,
        differentiate,
        1,
    ),
    near_part("nothing", "Where there is no target, all results are 0.", draw_nothing, call, 1),
    near_part(
        "gradients of nothing",
        "Where there is no target, the gradients are 0.",
        lambda rng: [
            Case(f"{case.label}, {name}", {**case.inputs, "take": take})
            for take, name in enumerate(("log probabilities", "loss"))
            for case in draw_nothing(rng)
        ],
        differentiate_one,
        1,
    ),
    near_part("extremes", "Logits may be thousands, and far apart.", draw_extremes, call, 1),
    near_part("gradients", FLOWS, _taking(draw_for_gradients, 0), differentiate_one, 1),
    near_part("gradients of the loss", FLOWS, _taking(draw_for_gradients, 1), differentiate_one, 1),
    any_layout(draw_values, 0.5, CONTRACT),
    *keeps(draw_values, draw_hard_cases),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[2:3], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(logits, targets):
    """The answer that the mistakes start from."""
    has_target = targets != IGNORE
    clean = logits.masked_fill(~has_target.unsqueeze(-1), 0)
    places = targets.clamp(min=0).unsqueeze(-1)
    log_softmax = torch.log_softmax(clean, dim=-1)
    values = log_softmax.gather(-1, places).squeeze(-1)
    values = torch.where(has_target, values, 0.0)
    log_probs = values.sum(dim=1)
    n_targets = has_target.sum().clamp(min=1)
    loss = -values.sum() / n_targets
    return log_probs, loss


@mistake(
    hint="Your results are right, but they are made piece by piece, in a loop. With the positions "
    "that have no target set to 0, all rows are added up at once."
)
def row_by_row(logits, targets):
    """The rows are scored in a loop."""
    log_probs = []
    for row, wanted in zip(logits, targets, strict=True):
        chosen = wanted != IGNORE
        log_probs.append(-F.cross_entropy(row[chosen], wanted[chosen], reduction="sum"))
    log_probs = torch.stack(log_probs)
    return log_probs, -log_probs.sum() / (targets != IGNORE).sum().clamp(min=1)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The log probability of a row is a mean.",
        replace={"values.sum(dim=1)": "values.sum(dim=1) / has_target.sum(dim=1).clamp(min=1)"},
        hint="You average the logarithms of a row. The probability of a whole reply is the product "
        "over its tokens: its logarithm is their sum.",
        keeps=0.5,
    ),
    mistake(
        "The loss is the mean of the rows' means.",
        replace={
            "-values.sum() / n_targets": (
                "-(log_probs / has_target.sum(dim=1).clamp(min=1)).sum() "
                "/ has_target.any(dim=1).sum().clamp(min=1)"
            )
        },
        hint="You average each row first, and then the rows. So a token of a short reply counts "
        "more: take one mean over all targets of the batch.",
    ),
    mistake(
        "The loss is divided by the number of rows.",
        replace={"-values.sum() / n_targets": "-values.sum() / len(targets)"},
        hint="You divide the loss by the number of rows. It is a mean per token: divide by the "
        "number of targets in the batch.",
        keeps=0.5,
    ),
    mistake(
        "The loss is divided by the number of all positions.",
        replace={"-values.sum() / n_targets": "-values.sum() / targets.numel()"},
        hint="You divide the loss by all positions, prompts and padding included. Only those that "
        "have a target count.",
        keeps=0.5,
    ),
    mistake(
        "The loss is a sum.",
        replace={"-values.sum() / n_targets": "-values.sum()"},
        hint="Your loss is a sum over the batch, which grows with the length of the replies. "
        "Divide it by the number of targets.",
        keeps=0.5,
    ),
    mistake(
        "The loss has the wrong sign.",
        replace={"-values.sum() / n_targets": "values.sum() / n_targets"},
        hint="Your loss is negative. It is the mean of minus the log probability: training makes "
        "it smaller, and replies more likely.",
        keeps=0.5,
    ),
    mistake(
        "The log probabilities have the wrong sign.",
        replace={"return log_probs, loss": "return -log_probs, loss"},
        hint="Your log probabilities are positive. The logarithm of a probability is 0 or less: "
        "only the loss changes its sign.",
        keeps=0.5,
    ),
    mistake(
        "Without targets the loss is nan.",
        replace={"has_target.sum().clamp(min=1)": "has_target.sum()"},
        hint="Where there is no target, you divide 0 by 0. The loss is 0 then: divide by at least "
        "1.",
    ),
    mistake(
        "Other positions are multiplied by 0.",
        replace={
            "logits.masked_fill(~has_target.unsqueeze(-1), 0)": "logits",
            "torch.where(has_target, values, 0.0)": "values * has_target",
        },
        hint="Where logits without a target are nan, your results are nan. To multiply by 0 does "
        "not help, as 0 times nan is nan: replace the logits there before you use them.",
    ),
    mistake(
        "Other positions are left out after the softmax.",
        replace={"logits.masked_fill(~has_target.unsqueeze(-1), 0)": "logits"},
        hint="Your results are right, but other positions go through the softmax before they are "
        "left out. Backwards, nan comes through: replace the logits first.",
    ),
    mistake(
        "Other positions count as the id 0.",
        replace={"torch.where(has_target, values, 0.0)": "values + 0.0"},
        hint="Where there is no target, you take the id 0 for one. Set the log probability to 0 "
        "there, so that it adds nothing.",
    ),
    mistake(
        "The id 0 is never a target.",
        replace={"targets != IGNORE": "targets > 0"},
        hint="You take the id 0 for no target. Only IGNORE, -100, means that; 0 is an id like any "
        "other.",
        keeps=0.5,
    ),
    mistake(
        "The softmax is taken first, and then its logarithm.",
        replace={"torch.log_softmax(clean, dim=-1)": "torch.softmax(clean, dim=-1).log()"},
        hint="Where logits are far apart, a probability rounds to 0 and its logarithm is -inf. Let "
        "`log_softmax` do both steps at once.",
    ),
    mistake(
        "The logits themselves are added up.",
        replace={"torch.log_softmax(clean, dim=-1)": "clean"},
        hint="You add up the logits of the targets. They are scores, not log probabilities: take "
        "the log softmax first.",
    ),
    mistake(
        "The softmax goes over positions.",
        replace={"torch.log_softmax(clean, dim=-1)": "torch.log_softmax(clean, dim=1)"},
        hint="Your softmax compares positions with each other. It compares ids: the last axis is "
        "the vocabulary.",
    ),
    mistake(
        "The results are in bits.",
        replace={
            "values.sum(dim=1)": "values.sum(dim=1) / math.log(2)",
            "-values.sum()": "-values.sum() / math.log(2)",
        },
        hint="Your results are in bits, with logarithms to the base 2. They are asked for in nats, "
        "with natural logarithms.",
        keeps=0.5,
    ),
    mistake(
        "The targets are shifted once more.",
        replace={"places = targets.clamp(min=0)": "places = targets.roll(-1, dims=1).clamp(min=0)"},
        hint="You shift the targets once more. They already stand where they are predicted: the "
        "logits of a position belong to the target of that very position.",
        keeps=0.3,
    ),
    mistake(
        "The log probabilities carry no graph.",
        replace={"return log_probs, loss": "return log_probs.detach(), loss"},
        hint="Your log probabilities are right, but detached. The next task learns through them: "
        "gradients have to flow from both results.",
    ),
    mistake(
        "The results are always float32.",
        replace={"return log_probs, loss": "return log_probs.float(), loss.float()"},
        hint="Your results are float32 also where the logits are float64. No conversion is needed: "
        "they have the dtype of the logits.",
    ),
    row_by_row,
)

CHECK = Check(
    item="ps8_score_replies",
    points=12,
    target="score_replies",
    reference=score_replies,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "safe = logits.masked_fill(~has_target[:, :, None], 0)  →  "
        f"safe = logits.masked_fill(~has_target[:, :, None], {number})": (
            "What is put where there is no target plays no part, as long as it is finite."
        )
        for number in (1, -1)
    },
)
