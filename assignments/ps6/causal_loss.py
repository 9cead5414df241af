"""The task "the causal loss"."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.models import IGNORE
from course_pkg.training import objectives

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Generator,
    any_layout,
    call,
    differentiate,
    judge_by,
    keeps,
    near_part,
    normal,
    tensor_case,
)
from .inputs import whole

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T V; B T; B")


def _case(
    rng: Generator,
    lengths: Sequence[int],
    T: int,
    V: int,
    dtype: str = "float64",
    what: str = "",
    *,
    padding: int | None = None,
) -> Case:
    """Make a case; the padding is an ordinary id unless another number is given."""
    B = len(lengths)
    ids = whole(rng, V, B, T)
    ends = torch.tensor(lengths)
    if padding is not None:
        ids[torch.arange(T) >= ends[:, None]] = padding
    logits = normal(rng, dtype, B, T, V, scale=2.0)
    label = f"lengths {list(lengths)} of {T}, {V} ids{what}"
    return tensor_case(label, dtype, logits, ids, ends)


def draw_full(rng: Generator) -> list[Case]:
    """Texts without padding."""
    return [
        _case(rng, [2], 2, 3),
        _case(rng, [5, 5], 5, 4),
        _case(rng, [4, 4, 4], 4, 7, "float32"),
        _case(rng, [3, 3, 3], 3, 3),
        _case(rng, [6], 6, 5),
    ]


def draw_padded(rng: Generator) -> list[Case]:
    """Texts of unlike lengths; the padding is an ordinary id."""
    return [
        _case(rng, [5, 2], 5, 4),
        _case(rng, [2, 6, 3], 6, 5),
        _case(rng, [4, 3], 7, 6, "float32", ": none is full"),
        _case(rng, [1, 5, 0, 3], 5, 4, what=": one has a single id, one none"),
        _case(rng, [5, 5, 3, 4, 2], 5, 5),
    ]


def draw_paddings(rng: Generator) -> list[Case]:
    """Whatever number may stand in the padding; and a real id of 0 counts."""
    cases = [
        _case(rng, [4, 2, 5], 6, 5, what=f", padding {padding}", padding=padding)
        for padding in (0, 4, -1, 5, -100, 1_000_000)
    ]
    zeros = _case(rng, [5, 3], 5, 4, what=", most ids 0", padding=0)
    zeros.inputs["arguments"][1][:, 1:3] = 0
    return [*cases, zeros]


def draw_nothing(rng: Generator) -> list[Case]:
    """Batches in which no prediction counts."""
    return [
        _case(rng, [1, 0, 1], 4, 3, what=", nothing to predict"),
        _case(rng, [0, 0], 3, 5, "float32", ", nothing to predict", padding=-1),
        _case(rng, [1, 1], 1, 4, what=", one position"),
    ]


def draw_torn(rng: Generator) -> list[Case]:
    """Logits of positions that do not count are nan or infinite."""
    cases = []
    for number, case in enumerate(draw_padded(rng)[:3]):
        logits, ids, lengths = case.inputs["arguments"]
        for b, length in enumerate(lengths.tolist()):
            logits[b, max(length - 1, 0) :] = (math.nan, math.inf, -math.inf)[(b + number) % 3]
        label = f"{case.label}, where it does not count nan and inf"
        cases.append(Case(label, case.inputs))
    both = _case(rng, [5, 2], 5, 4, what=", -inf and inf side by side in the padding", padding=0)
    both.inputs["arguments"][0][1, 1:] = torch.tensor([-math.inf, math.inf, 0, math.inf])
    cases.append(both)
    logits, ids, lengths = _case(rng, [1, 0], 3, 4).inputs["arguments"]
    logits = torch.full_like(logits, math.nan)
    nothing = "lengths [1, 0] of 3, nothing to predict, all logits nan"
    return [*cases, tensor_case(nothing, "float64", logits, ids, lengths)]


def draw_extremes(rng: Generator) -> list[Case]:
    """Logits whose exponentials are too large, or too small, for their dtype."""
    cases = []
    for scale, shift, dtype, what in [
        (1.0, 3000.0, "float64", "near 3000"),
        (1.0, -3000.0, "float64", "near -3000"),
        (1e10, 0.0, "float64", "1e10 apart"),
        (300.0, 0.0, "float32", "hundreds apart"),
    ]:
        case = _case(rng, [4, 2, 3], 4, 5, dtype, f", logits {what}", padding=-1)
        logits, ids, lengths = case.inputs["arguments"]
        logits = (logits * scale + shift).mul(64).round().div(64)
        logits[0, 0, ids[0, 1]] = logits[0, 0].min() - scale  # the least likely of all
        cases.append(tensor_case(case.label, dtype, logits, ids, lengths))
    return cases


def draw_halves(rng: Generator) -> list[Case]:
    """Half precision: the loss is that of float32."""
    cases = [
        _case(rng, [5, 3], 5, 4, "float16"),
        _case(rng, [7, 2, 4], 7, 9, "bfloat16"),
        _case(rng, [6, 6], 6, 5, "bfloat16"),
        _case(rng, [2, 4], 5, 7, "float16"),
        _case(rng, [9, 8, 3], 9, 4, "bfloat16"),
        _case(rng, [600, 600], 600, 3, "float16", ": sums beyond its digits"),
        _case(rng, [1, 0], 3, 4, "bfloat16", ", nothing to predict"),
    ]
    return [Case(case.label, {**case.inputs, "dtype": "float32"}) for case in cases]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Texts of unlike lengths, with padding of all kinds."""
    return [*draw_padded(rng), *draw_paddings(rng)[2:4], *draw_full(rng)[:2]]


def draw_hard_gradients(rng: Generator) -> list[Case]:
    """Nothing to predict, and logits that are nan where it does not matter."""
    return [*draw_nothing(rng), *draw_torn(rng)]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy."""
    return [*draw_full(rng), *draw_padded(rng)]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_paddings(rng), *draw_nothing(rng), *draw_torn(rng), *draw_halves(rng)]


# -- probes ----------------------------------------------------------------------------------------


def call_wide(implementation, inputs):
    """Return the result as float64, so that no rounding is forgiven."""
    return implementation(*inputs["arguments"]).double()


# -- the reference version -------------------------------------------------------------------------


def causal_loss(logits: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
    """Ask the package's cross-entropy about the rows that count."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    targets = ids[:, 1:].where(counts, IGNORE)
    return objectives.cross_entropy(wide[:, :-1][counts], targets[counts])


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Position t predicts the id at t + 1; the loss is the mean over all predictions.",
        draw_full,
        call,
        4,
    ),
    near_part(
        "padding",
        "Only real ids are predicted, and all predictions of the batch count alike.",
        draw_padded,
        call,
        4,
    ),
    near_part(
        "padding ids",
        "In the padding any number may stand, and a real 0 counts as any other id.",
        draw_paddings,
        call,
        1,
    ),
    near_part("nothing", "If no prediction counts, the loss is 0.", draw_nothing, call, 0.5),
    near_part(
        "logits that do not count",
        "Logits of positions that do not count play no part, even if they are nan.",
        draw_torn,
        call,
        1,
    ),
    near_part("extremes", "Logits may be thousands apart.", draw_extremes, call, 1),
    near_part(
        "half precision",
        "Of float16 and bfloat16 logits the loss is computed in float32.",
        draw_halves,
        call_wide,
        1,
        judge_by(rtol=3e-5, atol=1e-6),  # a loss that was rounded to 16 bits is hardly so near
    ),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 1),
    near_part(
        "gradients that are 0",
        "Positions that do not count have the gradient 0, whatever stands there.",
        draw_hard_gradients,
        differentiate,
        1,
    ),
    any_layout(draw_padded, 0.5, CONTRACT),
    *keeps(
        draw_ordinary,
        draw_hard_cases,
        requirement="The loss has the dtype of the logits, but float32 for half precision.",
    ),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_padded(rng)[1:2], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(logits, ids, lengths):
    """The answer that the mistakes start from."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    logits, targets = logits[:, :-1], ids[:, 1:]
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    log_probs = logits[counts].log_softmax(dim=-1)
    surprise = -log_probs.gather(1, targets[counts].unsqueeze(1)).squeeze(1)
    return surprise.sum() / max(len(surprise), 1)


@mistake(
    hint="You average within each text first, and then over the texts. So an id of a short text "
    "weighs more than one of a long text: take one mean over all predictions."
)
def mean_of_means(logits, ids, lengths):
    """The loss is a mean over texts of means over positions."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    safe = logits[:, :-1].where(counts.unsqueeze(-1), 0)
    targets = ids[:, 1:].where(counts, 0).unsqueeze(-1)
    surprise = -safe.log_softmax(dim=-1).gather(-1, targets).squeeze(-1).where(counts, 0)
    n_each = counts.sum(dim=1)
    means = surprise.sum(dim=1) / n_each.clamp(min=1)
    return means.sum() / (n_each > 0).sum().clamp(min=1)


@mistake(
    hint="Where logits that do not count are nan, your loss is nan. To multiply by 0 does not "
    "help, as 0 times nan is nan again: leave those positions out before you compute."
)
def multiplied_by_a_mask(logits, ids, lengths):
    """What does not count is multiplied by 0."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    targets = ids[:, 1:].where(counts, 0).unsqueeze(-1)
    surprise = -logits[:, :-1].log_softmax(dim=-1).gather(-1, targets).squeeze(-1)
    return (surprise * counts).sum() / counts.sum().clamp(min=1)


@mistake(
    hint="Your value is right, but positions that do not count get the gradient nan where their "
    "logits are nan: `ignore_index` and `where` hide the value only. Leave those rows out first."
)
def hidden_after_the_softmax(logits, ids, lengths):
    """What does not count is ignored after the softmax, so its gradient may be nan."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    targets = ids[:, 1:].where(counts, -100)
    total = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), reduction="sum")
    return total / counts.sum().clamp(min=1)


@mistake(
    hint="Your loss is right, but it is added up piece by piece, in a loop. A mask of shape (B, T "
    "- 1) picks the predictions of all texts at once."
)
def text_by_text(logits, ids, lengths):
    """A loop goes from text to text."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    total, n = logits[:0].sum(), 0
    for row, targets, length in zip(logits, ids, lengths.tolist(), strict=True):
        if length > 1:
            total = total + F.cross_entropy(row[: length - 1], targets[1:length], reduction="sum")
            n += length - 1
    return total / max(n, 1)


MISTAKES = mistakes(
    right_answer,
    mean_of_means,
    mistake(
        "Nothing is shifted: each position predicts itself.",
        replace={
            "logits[:, :-1], ids[:, 1:]": "logits, ids",
            "torch.arange(1, ids.shape[1])": "torch.arange(ids.shape[1])",
        },
        hint="You compare each position with the id that it has just read. A model learns to "
        "repeat that at once. Position t predicts the id at t + 1.",
    ),
    mistake(
        "The shift goes the wrong way.",
        replace={"logits[:, :-1], ids[:, 1:]": "logits[:, 1:], ids[:, :-1]"},
        hint="You let each position predict the id before it. Drop the last logits and the first "
        "id, and not the other way round.",
        keeps=0.3,
    ),
    mistake(
        "Padding is predicted, too.",
        replace={
            "torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)": (
                "torch.ones_like(targets, dtype=torch.bool)"
            ),
            "targets[counts].unsqueeze(1)": (
                "targets[counts].clamp(0, logits.shape[-1] - 1).unsqueeze(1)"
            ),
        },
        hint="You count predictions of padding. Only the first lengths[b] ids of row b are real; "
        "the model should learn nothing from the rest.",
    ),
    mistake(
        "The first id of the padding is predicted.",
        replace={
            "torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)": (
                "torch.arange(1, ids.shape[1]) <= lengths.unsqueeze(1)"
            ),
            "targets[counts].unsqueeze(1)": (
                "targets[counts].clamp(0, logits.shape[-1] - 1).unsqueeze(1)"
            ),
        },
        hint="You count one prediction too many in each padded row: the last real id predicts "
        "nothing, since what comes after it is padding.",
        keeps=0.5,
    ),
    mistake(
        "The last real id is not predicted.",
        replace={
            "torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)": (
                "torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1) - 1"
            )
        },
        hint="You count one prediction too few in each row. A row of n real ids has n - 1 "
        "predictions: its last real id is the last target.",
        keeps=0.5,
    ),
    mistake(
        "Every id of 0 is taken for padding.",
        replace={
            "torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)": (
                "(torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)) & (targets != 0)"
            )
        },
        hint="You leave out targets with the id 0. The lengths say which ids are padding: a real "
        "id of 0 counts as any other.",
        keeps=0.5,
    ),
    mistake(
        "The loss is the sum, not the mean.",
        replace={"surprise.sum() / max(len(surprise), 1)": "surprise.sum()"},
        hint="You return the sum over all predictions. Divide by how many count, or a larger batch "
        "would mean larger gradients.",
        keeps=0.5,
    ),
    mistake(
        "The sum is divided by all positions.",
        replace={"max(len(surprise), 1)": "max(targets.numel(), 1)"},
        hint="You divide by the number of all positions, padding included. So the loss gets "
        "smaller the more padding there is: divide by the predictions that count.",
    ),
    mistake(
        "The sum is divided by the number of real ids.",
        replace={"max(len(surprise), 1)": "max(int(lengths.sum()), 1)"},
        hint="You divide by the number of real ids. Nothing predicts the first id of a text, so "
        "there are fewer predictions than ids.",
        keeps=0.5,
    ),
    mistake(
        "The sum is divided by the number of texts.",
        replace={"max(len(surprise), 1)": "len(ids)"},
        hint="You divide by the number of texts. The unit is nats per predicted token: divide by "
        "the number of predictions.",
        keeps=0.5,
    ),
    mistake(
        "Without a prediction the loss is 0 / 0.",
        replace={"max(len(surprise), 1)": "len(surprise)"},
        hint="If no prediction counts, you divide 0 by 0. The loss is 0 then: divide by at least "
        "1.",
    ),
    mistake(
        "The loss is in bits.",
        replace={"max(len(surprise), 1)": "max(len(surprise), 1) / math.log(2)"},
        hint="You use logarithms to base 2. The contract asks for nats: the natural logarithm.",
        keeps=0.5,
    ),
    mistake(
        "The logarithm is taken of the probability.",
        replace={"logits[counts].log_softmax(dim=-1)": "logits[counts].softmax(dim=-1).log()"},
        hint="You form the probability first, and then its logarithm. Where logits are far apart "
        "it rounds to 0, and the loss becomes infinite: `log_softmax`.",
    ),
    mistake(
        "The softmax runs over all predictions instead of the vocabulary.",
        replace={"logits[counts].log_softmax(dim=-1)": "logits[counts].log_softmax(dim=0)"},
        hint="Your softmax sums over the predictions. The probabilities of one position sum to 1 "
        "over the vocabulary: the last axis.",
    ),
    mistake(
        "Half precision stays half precision.",
        replace={"in (torch.float16, torch.bfloat16)": "is None"},
        hint="You compute in half precision. Over hundreds of predictions its sums lose their "
        "digits: go over to float32 before anything else.",
    ),
    mistake(
        "The loss of half precision goes back to half precision.",
        replace={
            "if logits.dtype in (torch.float16, torch.bfloat16):": (
                "given = logits.dtype\nif logits.dtype in (torch.float16, torch.bfloat16):"
            ),
            "surprise.sum() / max(len(surprise), 1)": (
                "(surprise.sum() / max(len(surprise), 1)).to(given)"
            ),
        },
        hint="You compute in float32, and return half precision. The loss stays float32, so that "
        "small differences between losses can be seen.",
    ),
    mistake(
        "Everything is computed in float32, whatever was given.",
        replace={"if logits.dtype in (torch.float16, torch.bfloat16):": "if True:"},
        hint="You go over to float32 always. float64 logits have a float64 loss: only half "
        "precision is widened.",
    ),
    mistake(
        "No gradient flows back.",
        replace={"logits[:, :-1], ids": "logits[:, :-1].detach(), ids"},
        hint="Your value is right, but no gradient reaches the logits: do not detach, and do not "
        "go through `.item()`, `.tolist()` or NumPy.",
    ),
    mistake(
        "The ids of the padding are overwritten.",
        replace={
            "log_probs = logits[counts].log_softmax(dim=-1)": (
                "targets[~counts] = -100\nlog_probs = logits[counts].log_softmax(dim=-1)"
            )
        },
        hint="Your loss is right, but you have written into the caller's ids. Make a new tensor: "
        "`ids.where(...)` or `masked_fill` without an underscore.",
    ),
    multiplied_by_a_mask,
    hidden_after_the_softmax,
    text_by_text,
)

CHECK = Check(
    item="ps6_causal_loss",
    points=12,
    target="causal_loss",
    reference=causal_loss,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
