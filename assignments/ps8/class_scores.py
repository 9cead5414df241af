"""The task "a vector for the text, and a head"."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.layers.attention import padding_mask

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Generator,
    any_layout,
    call,
    cost_case,
    differentiate,
    keeps,
    near_part,
    normal,
    tensor_case,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T D; B; -; C D; C")
POOLINGS = ("first", "last", "mean")


def _case(
    rng: Generator,
    lengths: list[int],
    T: int,
    D: int,
    C: int,
    pooling: str,
    dtype: str = "float64",
    *,
    padding: tuple[float, ...] = (),
    zeros: bool = False,
    what: str = "",
) -> Case:
    """Draw vectors; `padding` are the numbers that stand behind the texts, in turn.

    With `zeros` every other vector is 0, and so is the padding.
    """
    vectors = normal(rng, dtype, len(lengths), T, D) + 2
    if zeros:
        vectors[:, 1::2] = 0
        padding = (0.0,)
    for row, length in enumerate(lengths):
        for t in range(length, T) if padding else ():
            vectors[row, t] = torch.tensor([padding[(t + i) % len(padding)] for i in range(D)])
    label = f"{pooling}, texts of {lengths} of {T} positions, width {D}, {C} classes{what}"
    head = normal(rng, dtype, C, D), normal(rng, dtype, C) + 1
    return tensor_case(label, dtype, vectors, torch.tensor(lengths), pooling, *head)


def drawing(pooling):
    """Return what draws cases of one pooling: full rows, one row, rows of very unequal length."""

    def draw(rng: Generator) -> list[Case]:
        return [
            _case(rng, [3], 4, 1, 1, pooling),
            _case(rng, [4, 2, 1], 4, 3, 2, pooling),
            _case(rng, [1, 5, 3, 2], 6, 2, 5, pooling, "float32"),
            _case(rng, [2, 2], 3, 3, 3, pooling),
            _case(rng, [1, 1, 1], 1, 4, 2, pooling),
            _case(rng, [4, 3, 2], 5, 3, 2, pooling, zeros=True, what=", some vectors are 0"),
            _case(rng, [7, 12, 1, 3], 12, 6, 3, pooling, "float32"),
        ]

    return draw


def draw_padding(rng: Generator) -> list[Case]:
    """What stands at padding would spoil everything that it touches."""
    kinds = {"nan": (math.nan,), "inf": (math.inf, -math.inf), "huge": (1e300, -1e300)}
    return [
        _case(rng, [2, 4, 1], 4, 3, 2, pooling, padding=padding, what=f", {name} at padding")
        for pooling in POOLINGS
        for name, padding in kinds.items()
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary ones of each pooling."""
    return [
        case
        for pooling in POOLINGS
        for case in (
            _case(rng, [4, 2, 1], 4, 3, 2, pooling),
            _case(rng, [1, 5, 3], 6, 2, 4, pooling, "float32"),
        )
    ]


def draw_other_names(rng: Generator) -> list[Case]:
    """Names of poolings that there are not."""
    names = ("max", "", "Mean", "sum", "lasts", "first ")
    return [_case(rng, [2, 3], 3, 2, 2, name, what=f", pooling {name!r}") for name in names]


def draw_long(rng: Generator) -> list[Case]:
    """Two inputs, one with more positions, or rows, than the other."""
    cases = []
    for pooling in POOLINGS:
        both = [_case(rng, [n - 3, n], n, 2, 2, pooling) for n in (20, 260)]
        rows = [_case(rng, [2, 3] * n, 3, 2, 2, pooling) for n in (2, 122)]
        for what, pair in (("positions", both), ("rows", rows)):
            arguments = [case.inputs["arguments"] for case in pair]
            cases.append(cost_case(f"{pooling}, many {what}", *arguments, 240))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def call_with_other_name(implementation, inputs):
    """Return whether a ValueError is raised, also if the texts have no padding."""
    try:
        implementation(*inputs["arguments"])
    except ValueError:
        return True
    return False


# -- the reference version -------------------------------------------------------------------------


def class_scores(
    vectors: Tensor, lengths: Tensor, pooling: str, weight: Tensor, bias: Tensor
) -> Tensor:
    """Pool as the package's `Features` does, which is a method of a module."""
    if pooling not in POOLINGS:
        raise ValueError(f"pooling is {pooling!r}; it must be one of {POOLINGS}")
    is_text = padding_mask(lengths, vectors.shape[1]).squeeze(1).unsqueeze(-1)
    pooled = {
        "first": vectors[:, 0],
        "last": vectors[torch.arange(len(vectors)), lengths - 1],
        "mean": vectors.where(is_text, 0.0).sum(dim=1) / lengths.unsqueeze(1),
    }[pooling]
    return F.linear(pooled, weight, bias)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part("first", 'With "first" the first vector is scored.', drawing("first"), call, 1.5),
    near_part(
        "last",
        'With "last" the vector of the last position of each text is scored.',
        drawing("last"),
        call,
        3,
    ),
    near_part(
        "mean",
        'With "mean" the mean of the vectors of each text is scored.',
        drawing("mean"),
        call,
        3,
    ),
    near_part(
        "padding",
        "What stands at padding plays no part in the scores, whatever it is.",
        draw_padding,
        call,
        1.5,
    ),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 1.5),
    near_part(
        "gradients beside padding",
        "What stands at padding plays no part in the gradients, which are 0 there.",
        draw_padding,
        differentiate,
        1,
    ),
    Part(
        "other names",
        "Any other pooling raises a ValueError.",
        draw_other_names,
        call_with_other_name,
        judge=saying("another name is taken, and no ValueError is raised"),
        weight=0.5,
        earns_alone=False,
    ),
    any_layout(draw_for_gradients, 0.5, CONTRACT),
    *keeps(draw_for_gradients, draw_padding),
    not_allowed(longer=draw_long),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(vectors, lengths, pooling, weight, bias):
    """The answer that the mistakes start from."""
    if pooling not in ("first", "last", "mean"):
        raise ValueError(pooling)
    place = torch.arange(vectors.shape[1])
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        rows = torch.arange(len(vectors))
        pooled = vectors[rows, lengths - 1]
    else:
        is_text = place < lengths[:, None]
        kept = vectors.masked_fill(~is_text[:, :, None], 0)
        pooled = kept.sum(dim=1) / lengths[:, None]
    scores = pooled @ weight.T + bias
    return scores


@mistake(
    hint="Your scores are right, but they are made piece by piece, in a loop. Indexed with the "
    "rows' numbers and their lengths, or with a mask, all rows are pooled at once."
)
def row_by_row(vectors, lengths, pooling, weight, bias):
    """The texts are pooled in a loop."""
    pooled = []
    for row, length in zip(vectors, lengths.tolist(), strict=True):
        if pooling == "first":
            pooled.append(row[0])
        elif pooling == "last":
            pooled.append(row[length - 1])
        elif pooling == "mean":
            pooled.append(row[:length].mean(dim=0))
        else:
            raise ValueError(pooling)
    return torch.stack(pooled) @ weight.T + bias


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The last vector is that of the last position, padding or not.",
        replace={"vectors[rows, lengths - 1]": "vectors[:, -1]"},
        hint='Your "last" takes position T - 1 in all rows. In a short row that is padding: the '
        "last vector of a text stands at its own length minus 1.",
    ),
    mistake(
        "The last vector is one place too far.",
        replace={"lengths - 1]": "lengths.clamp(max=vectors.shape[1] - 1)]"},
        hint='Your "last" takes the vector after the text. Positions count from 0, so the last of '
        "them is at the length minus 1.",
    ),
    mistake(
        "All rows end where the longest does.",
        replace={"lengths - 1]": "lengths.max() - 1]"},
        hint='Your "last" takes the same position in all rows, the end of the longest text. Each '
        "row has its own length.",
    ),
    mistake(
        "The mean is over all positions, padding included.",
        replace={"kept.sum(dim=1) / lengths[:, None]": "vectors.mean(dim=1)"},
        hint='Your "mean" takes in the padding. Only vectors of the text count: leave the others '
        "out of the sum, and of the number that you divide by.",
    ),
    mistake(
        "The sum is divided by the number of all positions.",
        replace={"/ lengths[:, None]": "/ vectors.shape[1]"},
        hint="You leave the padding out of the sum, and then divide by the number of all "
        "positions. Divide by the length of each text.",
    ),
    mistake(
        "The vectors are added up, not averaged.",
        replace={" / lengths[:, None]": ""},
        hint='Your "mean" is a sum: it grows with the length of the text. Divide it by that '
        "length.",
    ),
    mistake(
        "The mean lacks the last vector.",
        replace={"place < lengths[:, None]": "place < (lengths[:, None] - 1).clamp(min=1)"},
        hint='Your "mean" leaves out the last vector of the text. A text of so many positions ends '
        "before its length, and not before its length minus 1.",
    ),
    mistake(
        "The mean has one vector of the padding.",
        replace={"place < lengths[:, None]": "place <= lengths[:, None]"},
        hint='Your "mean" takes in the first vector of the padding. Positions count from 0: those '
        "of the text are below its length.",
    ),
    mistake(
        "Padding is multiplied by 0.",
        replace={
            "vectors.masked_fill(~is_text[:, :, None], 0)": "vectors * is_text[:, :, None]",
        },
        hint="Where padding is nan or inf, your scores are nan. To multiply by 0 does not help, as "
        "0 times nan is nan, and 0 times inf, too: replace what stands there, with `masked_fill` "
        "or `torch.where`.",
    ),
    mistake(
        "First and last are exchanged.",
        replace={
            'pooling == "first"': 'pooling == "last"',
            'elif pooling == "last"': 'elif pooling == "first"',
        },
        hint='Your "last" is the first vector. The first one of a GPT has seen nothing but itself; '
        "it is [CLS] of a BERT that stands first.",
        keeps=0.5,
    ),
    mistake(
        "The bias is left out.",
        replace={"pooled @ weight.T + bias": "pooled @ weight.T + 0 * bias"},
        hint="Your scores lack the bias. The head is a linear layer: weight times the vector, plus "
        "the bias.",
        keeps=0.5,
    ),
    mistake(
        "A softmax is taken of the scores.",
        replace={"pooled @ weight.T + bias": "torch.softmax(pooled @ weight.T + bias, dim=-1)"},
        hint="You return probabilities. The contract asks for the scores as the linear layer makes "
        "them: the loss takes its own softmax.",
        keeps=0.5,
    ),
    mistake(
        "Other names are taken for the mean.",
        replace={'pooling not in ("first", "last", "mean")': "pooling is None"},
        hint="You take any other name for the mean. A name with a typing error should not train "
        "another model without a word: raise a ValueError.",
    ),
    mistake(
        "No gradient reaches the vectors.",
        replace={"pooled @ weight.T + bias": "pooled.detach() @ weight.T + bias"},
        hint="Your scores are right, but no gradient reaches the vectors: they are detached. "
        "Fine-tuning needs it, and what is frozen is said elsewhere.",
    ),
    mistake(
        "The scores are always float32.",
        replace={"return scores": "return scores.float()"},
        hint="Your scores are float32 also where the vectors are float64. No conversion is needed: "
        "the result has their dtype.",
    ),
    mistake(
        "The caller's padding is overwritten.",
        replace={"vectors.masked_fill(": "vectors.data.masked_fill_("},
        hint="Your scores are right, but you write zeros into the caller's vectors. `masked_fill` "
        "without an underscore makes a new tensor.",
    ),
    row_by_row,
)

CHECK = Check(
    item="ps8_class_scores",
    points=11,
    target="class_scores",
    reference=class_scores,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
