"""The task "the loss, where something was hidden"."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Inputs, mistake, mistakes
from autograder.authoring.compare import ORDINALS
from autograder.authoring.rules import not_allowed
from course_pkg.models.loss import nats_per_target

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near,
    near_part,
    normal,
    sizes_part,
    tensor_case,
)
from ..token_ids import IGNORE

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T D; B T; V D; V")
FLOATS = (0, 2, 3)
"""The places of the arguments that get a gradient."""


def _case(
    rng: Generator,
    rows: list[str],
    D: int,
    V: int,
    dtype: str = "float64",
    *,
    scale: float = 1.0,
    others: tuple[float, ...] = (),
    targets: tuple[int, ...] = (),
    what: str = "",
) -> Case:
    """Choose positions by a pattern: "x" any id, "0" the least, "9" the largest, "." none.

    `others` are what stands in the vectors that are not chosen, in turn.
    """
    shape = len(rows), len(rows[0])
    vectors = normal(rng, dtype, *shape, D, scale=scale)
    chosen = torch.full(shape, IGNORE)
    for row, letters in enumerate(rows):
        for t, letter in enumerate(letters):
            if letter != ".":
                any_id = int(rng.choice(targets or V))
                chosen[row, t] = {"0": 0, "9": V - 1}.get(letter, any_id)
            elif others:
                turn = torch.tensor([others[(t + row + i) % len(others)] for i in range(D)])
                vectors[row, t] = turn
    n = int((chosen != IGNORE).sum())
    label = f"vectors of shape {(*shape, D)}, {V} ids, {n} chosen{what}"
    weights = normal(rng, dtype, V, D), normal(rng, dtype, V, scale=scale)
    return tensor_case(label, dtype, vectors, chosen, *weights)


def draw_values(rng: Generator) -> list[Case]:
    """As many positions chosen in one row as in the other; in one row of the batch."""
    return [
        _case(rng, ["x"], 2, 3),
        _case(rng, [".x.0"], 3, 5),
        _case(rng, ["x..9.", ".x0.."], 4, 7),
        _case(rng, ["..x.x", "9.x..", "x...0"], 5, 5, "float32"),
        _case(rng, [".x..0.x.x.9..x", "x.9.x0...x..x."], 3, 31, "float32"),
    ]


def draw_uneven(rng: Generator) -> list[Case]:
    """Rows with many chosen positions, with few, and with none; all of them."""
    return [
        _case(rng, ["xxx", ".0."], 3, 4, what=", uneven rows"),
        _case(rng, ["x.x0x", ".....", "..9.."], 4, 6, "float32", what=", uneven rows"),
        _case(rng, ["....", "....", "9.x."], 2, 5, what=", two rows without any"),
        _case(rng, ["x0", "9x", "xx"], 3, 4, what=", all positions"),
        _case(rng, [".0.", "0.0"], 3, 4, what=", all targets 0"),
    ]


def draw_hostile(rng: Generator) -> list[Case]:
    """Vectors of other positions that would spoil everything that they touch."""
    rows = ["x..0", ".9.x"]
    return [
        _case(rng, rows, 3, 5, others=(math.nan,), what=", nan elsewhere"),
        _case(rng, rows, 4, 6, others=(math.inf, -math.inf, 1.0), what=", inf elsewhere"),
        _case(rng, rows, 3, 7, "float32", others=(1e38, -1e38), what=", huge elsewhere"),
    ]


def draw_nothing(rng: Generator) -> list[Case]:
    """No position is chosen."""
    return [
        _case(rng, ["..."], 2, 4),
        _case(rng, ["....", "....", "...."], 3, 5, "float32"),
        _case(rng, ["..", ".."], 3, 5, others=(math.nan,), what=", nan elsewhere"),
    ]


def draw_extremes(rng: Generator) -> list[Case]:
    """Scores of thousands, far apart."""
    return [
        _case(rng, ["x.0x", ".x9."], 4, 6, scale=1e3, what=", scores of thousands"),
        _case(rng, ["x.0x", ".x9."], 4, 6, "float32", scale=1e4, what=", scores of thousands"),
        _case(rng, [".x.", "x.0"], 3, 2, "float32", scale=300, what=", scores of hundreds"),
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary ones."""
    return [*draw_values(rng)[1:], draw_uneven(rng)[1]]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_uneven(rng), *draw_hostile(rng)[1:], *draw_nothing(rng)[:2], *draw_extremes(rng)]


def draw_sparse(rng: Generator) -> list[Case]:
    """Few positions of many, and a vocabulary that is not small."""
    shapes = [
        (["." * 39 + "x"] * 2, 3, 50),
        (["." * 60, "..x" * 20, *["." * 60] * 3], 2, 80),
        (["." * 9 + "x." * 5 + "x", "." * 19 + "x"], 12, 30),
    ]
    return [_case(rng, *shape) for shape in shapes]


# -- probes ----------------------------------------------------------------------------------------


def differentiate_alone(implementation, inputs):
    """Return the gradient for each float argument in turn, where no other one has any."""
    import torch

    found = []
    for place in (0, 2, 3):
        arguments = [argument.clone() for argument in inputs["arguments"]]
        leaf = arguments[place].requires_grad_()
        loss = implementation(*arguments)
        if loss.requires_grad:
            found.append(torch.autograd.grad(loss, leaf)[0])
        else:
            found.append("no gradient")
    return found


# -- the reference version -------------------------------------------------------------------------


def masked_lm_loss(vectors: Tensor, targets: Tensor, table: Tensor, bias: Tensor) -> Tensor:
    """Hand the scores of the chosen positions to the package's loss."""
    chosen = targets != IGNORE
    return nats_per_target(F.linear(vectors[chosen], table, bias), targets[chosen])


# -- parts -----------------------------------------------------------------------------------------


def _judge_alone(observed: object, expected: object, inputs: Inputs) -> str | None:
    """Say which of the arguments gets no gradient, where some get one."""
    if type(observed) is not list or len(observed) != len(FLOATS):
        return near(observed, expected, inputs)
    without = [place for place, one in zip(FLOATS, observed, strict=True) if type(one) is str]
    if len(without) == len(FLOATS):
        return "no gradient reaches the arguments"
    if without:
        return f"the {ORDINALS[without[0]]} argument gets no gradient"
    return near(observed, expected, inputs)


PARTS = (
    near_part(
        "values",
        "The loss is the mean of -ln p(target) over the chosen positions.",
        draw_values,
        call,
        5,
    ),
    near_part(
        "uneven rows",
        "Each chosen position counts the same, however many its row has.",
        draw_uneven,
        call,
        1.5,
    ),
    near_part(
        "other positions",
        "What stands at other positions plays no part in the loss.",
        draw_hostile,
        call,
        1,
    ),
    near_part(
        "gradients beside other positions",
        "What stands at other positions plays no part in the gradients, which are 0 there.",
        draw_hostile,
        differentiate,
        1,
    ),
    near_part(
        "nothing chosen",
        "Where no position is chosen, the loss is 0.",
        draw_nothing,
        call,
        1,
    ),
    near_part(
        "gradients of nothing",
        "Where no position is chosen, the gradients are 0.",
        draw_nothing,
        differentiate_alone,
        1,
        _judge_alone,
    ),
    near_part(
        "extremes",
        "Scores may be thousands, and far apart.",
        draw_extremes,
        call,
        1,
    ),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 1.5),
    sizes_part(
        "Scores are computed at the chosen positions only.",
        draw_sparse,
        lambda arguments: arguments[1].numel() * len(arguments[2]),
        "a tensor has a number for each id at each position, chosen or not",
    ),
    any_layout(draw_values, 0.5, CONTRACT),
    *keeps(draw_values, draw_hard_cases),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[2:3], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(vectors, targets, table, bias):
    """The answer that the mistakes start from."""
    chosen = targets != IGNORE
    scores = vectors[chosen] @ table.T + bias
    true = targets[chosen]
    log_probs = torch.log_softmax(scores, dim=-1)
    losses = -log_probs[torch.arange(len(true)), true]
    return losses.sum() / max(len(true), 1)


@mistake(
    hint="Your loss is right, but it is added up piece by piece, in a loop. Indexed with the mask, "
    "all chosen vectors stand one below the other: one product scores them all."
)
def position_by_position(vectors, targets, table, bias):
    """The positions are scored in a loop."""
    losses = [vectors.new_zeros(0).sum() + 0 * (table.sum() + bias.sum())]
    losses[0] = losses[0] + vectors[targets != IGNORE][:0].sum()
    n = 0
    for row, t in (targets != IGNORE).nonzero().tolist():
        scores = table @ vectors[row, t] + bias
        losses.append(F.cross_entropy(scores, targets[row, t]))
        n += 1
    return torch.stack(losses).sum() / max(n, 1)


@mistake(
    hint="Your loss is that of all positions, with those that are not chosen left out at the end. "
    "By then their scores are computed, and what stands there has come into the gradient."
)
def scores_everywhere(vectors, targets, table, bias):
    """All positions are scored, and cross_entropy leaves out those that are not chosen."""
    scores = vectors @ table.T + bias
    total = F.cross_entropy(
        scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORE, reduction="sum"
    )
    return total / (targets != IGNORE).sum().clamp(min=1)


@mistake(
    hint="What stands at other positions comes into your loss: where it is nan, so is the loss. To "
    "multiply by 0 does not help, as 0 times nan is nan: choose the positions first."
)
def multiplied_by_mask(vectors, targets, table, bias):
    """The losses of other positions are multiplied by 0."""
    chosen = targets != IGNORE
    log_probs = torch.log_softmax(vectors @ table.T + bias, dim=-1)
    losses = -log_probs.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return (losses * chosen).sum() / chosen.sum().clamp(min=1)


@mistake(
    hint="You take the mean of each row first and then that of the rows. So a position in a row "
    "with few others counts more: take one mean over all chosen positions."
)
def mean_of_means(vectors, targets, table, bias):
    """The mean of the rows' means is taken."""
    chosen = targets != IGNORE
    scores = vectors[chosen] @ table.T + bias
    losses = F.cross_entropy(scores, targets[chosen], reduction="none")
    sums = vectors.new_zeros(targets.shape).masked_scatter(chosen, losses).sum(dim=1)
    counts = chosen.sum(dim=1)
    return (sums / counts.clamp(min=1)).sum() / (counts > 0).sum().clamp(min=1)


MISTAKES = mistakes(
    right_answer,
    scores_everywhere,
    multiplied_by_mask,
    mean_of_means,
    mistake(
        "The sum is divided by the number of all positions.",
        replace={"max(len(true), 1)": "targets.numel()"},
        hint="You divide by all positions of the batch. The mean is over the chosen ones: else the "
        "loss would shrink where fewer are chosen.",
        keeps=0.5,
    ),
    mistake(
        "The losses are added up, not averaged.",
        replace={" / max(len(true), 1)": ""},
        hint="You return the sum of the losses. It would grow with the number of chosen positions: "
        "divide by it.",
        keeps=0.5,
    ),
    mistake(
        "The sum is divided by the number of rows.",
        replace={"max(len(true), 1)": "len(targets)"},
        hint="You divide by the number of rows of the batch. A row has several chosen positions, "
        "or none: divide by how many there are in all.",
        keeps=0.5,
    ),
    mistake(
        "Where nothing is chosen, the loss is nan.",
        replace={"losses.sum() / max(len(true), 1)": "losses.mean()"},
        hint="Where no position is chosen, you divide 0 by 0. The loss is 0 then: divide by at "
        "least 1.",
    ),
    mistake(
        "Where nothing is chosen, the loss carries no graph.",
        replace={
            "true = targets[chosen]": """
                true = targets[chosen]
                if len(true) == 0:
                    return vectors.new_zeros(())
            """
        },
        hint="Where no position is chosen, you return a fresh 0, and `backward` fails on it. A sum "
        "of nothing is 0, too, and it carries a graph.",
    ),
    mistake(
        "The bias is left out.",
        replace={"@ table.T + bias": "@ table.T + 0 * bias"},
        hint="Your scores lack the bias. Each id has one: it says how frequent the id is, whatever "
        "the vector says.",
        keeps=0.5,
    ),
    mistake(
        "The id 0 is never a target.",
        replace={"targets != IGNORE": "targets > 0"},
        hint="You take the id 0 for a position that is not chosen. Only IGNORE, -100, means that; "
        "0 is an id like any other.",
        keeps=0.5,
    ),
    mistake(
        "Each vector has the target of the position behind it.",
        replace={
            "scores = vectors[chosen]": "scores = vectors[chosen.roll(1, dims=1)]",
        },
        hint="You shift vectors and targets against each other, as for a decoder. Here the vector "
        "of a position predicts the token of that very position.",
        keeps=0.3,
    ),
    mistake(
        "The loss is in bits.",
        replace={"max(len(true), 1)": "max(len(true), 1) / math.log(2)"},
        hint="Your loss is in bits, with logarithms to the base 2. It is asked for in nats, with "
        "natural logarithms.",
        keeps=0.5,
    ),
    mistake(
        "The softmax is taken first, and then its logarithm.",
        replace={"torch.log_softmax(scores, dim=-1)": "torch.softmax(scores, dim=-1).log()"},
        hint="Where scores are far apart, a probability rounds to 0 and its logarithm is -inf. Let "
        "`log_softmax` or `cross_entropy` do both steps at once.",
    ),
    mistake(
        "The probability is averaged before its logarithm is taken.",
        replace={
            "losses.sum() / max(len(true), 1)": (
                "-((-losses).exp().sum() / max(len(true), 1)).log() if len(true) else losses.sum()"
            )
        },
        hint="You take the mean of the probabilities and then its logarithm. The loss is the mean "
        "of the logarithms: one bad guess must not be hidden by the others.",
    ),
    mistake(
        "No gradient reaches the table.",
        replace={"@ table.T": "@ table.detach().T"},
        hint="The loss is right, but the table gets no gradient. It is learned here as well as by "
        "the embedding: do not detach it.",
    ),
    mistake(
        "The result has an axis of length 1.",
        replace={
            "return losses.sum() / max(len(true), 1)": (
                "return losses.sum(dim=0, keepdim=True) / max(len(true), 1)"
            )
        },
        hint="Your result has the shape (1,). The loss is a tensor without an axis, as `sum()` "
        "makes it.",
        keeps=0.5,
    ),
    mistake(
        "The loss is always float32.",
        replace={
            "scores = vectors[chosen] @ table.T + bias": (
                "scores = (vectors[chosen] @ table.T + bias).float()"
            )
        },
        hint="Your loss is float32 also where the vectors are float64. No conversion is needed: "
        "the result has their dtype.",
    ),
    mistake(
        "The caller's targets are changed.",
        replace={
            "true = targets[chosen]": """
                true = targets[chosen]
                targets[~chosen] = 0
            """
        },
        hint="Your loss is right, but the caller's targets have changed: IGNORE is gone from them. "
        "The next epoch needs it.",
    ),
    position_by_position,
)

CHECK = Check(
    item="ps7_masked_lm_loss",
    points=11,
    target="masked_lm_loss",
    reference=masked_lm_loss,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
