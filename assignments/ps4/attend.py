"""The task "scaled dot-product attention with a mask"."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.layers import attention

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
    tensor_case,
)
from .inputs import some_allowed

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*texts T K; *texts S K; *texts S M; *texts T S")
FORBIDDEN = ("scaled_dot_product_attention", "multi_head_attention_forward")
SIZES = [  # leading axes, queries, keys, width of keys, width of values
    ((), 1, 2, 3, 1, "float64"),
    ((2,), 3, 5, 4, 2, "float64"),
    ((3, 2), 4, 3, 2, 5, "float32"),
    ((2, 1, 3), 2, 4, 5, 3, "float64"),
    ((3, 3), 3, 3, 3, 3, "float64"),
    ((1, 1), 1, 1, 2, 3, "float64"),
]


def _case(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    what: str,
) -> Case:
    shapes = [tuple(x.shape) for x in (query, key, value)]
    label = f"shapes {', '.join(map(str, shapes))}{what}"
    dtype = str(query.dtype).removeprefix("torch.")
    return tensor_case(label, dtype, query, key, value, mask)


def _tensors(
    rng: Generator, axes: tuple[int, ...], T: int, S: int, K: int, M: int, dtype: str
) -> tuple[Tensor, Tensor, Tensor]:
    query, key = normal(rng, dtype, *axes, T, K), normal(rng, dtype, *axes, S, K)
    return query, key, normal(rng, dtype, *axes, S, M)


def draw_without_mask(rng: Generator) -> list[Case]:
    """Any number of leading axes, and sizes of 1."""
    return [_case(*_tensors(rng, *size), None, ", no mask") for size in SIZES]


def draw_masks(rng: Generator) -> list[Case]:
    """Masks of all shapes that broadcast; every row may look somewhere.

    Keys are one number wide, so that a slip in the scale is not paid for again here.
    """
    cases = []
    for axes, T, S, K, M, dtype, shape in [
        ((), 3, 4, 1, 1, "float64", (3, 4)),
        ((2,), 3, 5, 1, 2, "float64", (2, 3, 5)),
        ((2, 3), 4, 6, 1, 2, "float32", (4, 6)),
        ((2, 3), 5, 4, 1, 3, "float64", (2, 1, 1, 4)),
        ((3, 2), 4, 4, 1, 4, "float64", (3, 1, 4, 4)),
        ((2, 1, 3), 3, 5, 1, 4, "float64", (3, 1, 5)),
        ((2, 3), 2, 4, 1, 5, "float64", (3, 2, 4)),
        ((4, 4), 4, 4, 1, 4, "float64", (4, 4)),
        ((2, 2), 3, 4, 1, 2, "float64", (2, 2, 3, 4)),
    ]:
        mask = some_allowed(rng, *shape)
        cases.append(_case(*_tensors(rng, axes, T, S, K, M, dtype), mask, f", mask {shape}"))
    tensors = _tensors(rng, (2,), 4, 4, 1, 2, "float64")
    lower = torch.ones(4, 4, dtype=torch.bool).tril()
    cases.append(_case(*tensors, lower, ", a causal mask"))
    cases.append(_case(*tensors, torch.ones(4, 4, dtype=torch.bool), ", all allowed"))
    tensors = _tensors(rng, (), 130, 3, 1, 2, "float64")
    for shape in ((3,), (1, 3)):
        mask = torch.tensor([True, False, True]).reshape(shape)
        cases.append(_case(*tensors, mask, f", mask {shape}"))
    return cases


def draw_nowhere(rng: Generator) -> list[Case]:
    """Some rows may look nowhere, or none may look anywhere."""
    cases = []
    for axes, T, S, K, M, dtype, rows in [
        ((), 2, 3, 1, 3, "float64", (1,)),
        ((2,), 4, 3, 1, 2, "float64", (0, 2)),
        ((2, 2), 3, 5, 1, 4, "float32", (2,)),
    ]:
        mask = some_allowed(rng, T, S)
        mask[list(rows)] = False
        size = f", {len(rows)} rows may look nowhere"
        cases.append(_case(*_tensors(rng, axes, T, S, K, M, dtype), mask, size))
    one_text = torch.tensor([True, False])[:, None, None, None]
    cases.append(
        _case(
            *_tensors(rng, (2, 3), 3, 4, 1, 5, "float64"), one_text, ", one text may look nowhere"
        )
    )
    nothing = torch.zeros(1, 1, dtype=torch.bool)
    cases.append(_case(*_tensors(rng, (2,), 1, 1, 1, 3, "float64"), nothing, ", nobody may look"))
    return cases


def draw_hidden(rng: Generator) -> list[Case]:
    """Hidden keys that would win, hidden values that are huge, allowed scores far below zero."""
    cases = []
    for size, dtype in [(1e12, "float64"), (1e11, "float32")]:
        query, key, value = _tensors(rng, (2, 2), 3, 5, 1, 2, dtype)
        mask = some_allowed(rng, 2, 1, 1, 5)
        hidden = ~mask[..., 0, :, None]  # (2, 1, 5, 1)
        key = key + size * hidden * torch.ones_like(key)
        value = torch.where(hidden, 1e30, value).to(query.dtype)
        cases.append(_case(query.abs() + 1, key, value, mask, f", hidden keys {size:g} larger"))
    low = [_lowest(rng, "float64", 1e18), _lowest(rng, "float32", 1e18)]
    return [*cases, *low, _opposed(rng, "float32", 1.4e19)]


def _opposed(rng: Generator, dtype: str, root: float) -> Case:
    """What is hidden scores so high that the least number of all, added to it, is not low enough.

    For the dtype's largest number is less than what lies between it and what may be seen.
    """
    query, key, value = _tensors(rng, (), 3, 4, 1, 2, dtype)
    hidden = torch.tensor([True, False, False, True])
    query = torch.full_like(query, root)
    key = torch.where(hidden[:, None], 1.6 * query[0], -0.4 * query[0])
    label = f", hidden scores near {1.6 * root**2:g}, others near {-0.4 * root**2:g}"
    return _case(query, key, value, ~hidden.expand(3, 4), label)


def _lowest(rng: Generator, dtype: str, root: float) -> Case:
    """All that may be seen scores below any number that "surely is low enough", such as -1e30."""
    query, key, value = _tensors(rng, (), 3, 4, 1, 2, dtype)
    mask, score = some_allowed(rng, 3, 4), -(root**2)
    query, key = torch.full_like(query, root), torch.full_like(key, -root)
    return _case(query, key, value, mask, f", all scores near {score:g}")


def draw_precise(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy: float64 has lower scores than float32."""
    return [*draw_all(rng), _lowest(rng, "float64", 1e20), _opposed(rng, "float64", 1e154)]


def draw_large_scores(rng: Generator) -> list[Case]:
    """Scores whose exponentials are too large, or too small, for their dtype; whole, so exact."""
    cases = []
    for base, dtype in [(60_000.0, "float64"), (-60_000.0, "float64"), (400.0, "float32")]:
        query = torch.from_numpy(rng.integers(-8, 9, (2, 3, 4)) / 4)
        key = torch.from_numpy(rng.integers(-8, 9, (2, 5, 4)) / 4)
        query[..., 0], key[..., 0] = base, 1.0
        value = normal(rng, dtype, 2, 5, 3)
        query, key = query.to(value.dtype), key.to(value.dtype)
        mask = some_allowed(rng, 3, 5) if base > 0 else None
        cases.append(_case(query, key, value, mask, f", scores near {base / 2:g}"))
    return cases


def draw_gradients(rng: Generator) -> list[Case]:
    """With and without a mask."""
    return [*draw_without_mask(rng)[:3], *draw_masks(rng)[1:4]]


def draw_memory(rng: Generator) -> list[Case]:
    """Wide keys and values: one tensor of T·S·K numbers is far larger than all else."""
    tensors = _tensors(rng, (2,), 24, 25, 26, 27, "float64")
    lower = torch.ones(24, 25, dtype=torch.bool).tril(diagonal=1)
    return [_case(*tensors, None, ", no mask"), _case(*tensors, lower, ", a mask")]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds in which every row may look somewhere."""
    return [*draw_without_mask(rng)[:4], *draw_masks(rng)[2:5]]


def draw_hard(rng: Generator) -> list[Case]:
    """Rows that may look nowhere, hidden keys that would win, large scores."""
    return [*draw_nowhere(rng), *draw_hidden(rng), *draw_large_scores(rng)]


# -- probes ----------------------------------------------------------------------------------------


def nowhere(implementation, inputs):
    """Return the result, and the gradients of its sum."""
    import torch

    query, key, value, mask = inputs["arguments"]
    leaves = [x.requires_grad_() for x in (query, key, value)]
    result = implementation(query, key, value, mask)
    if not result.requires_grad:
        return result, "no gradient"
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).view_as(result)
    gradients = torch.autograd.grad((result * weights).sum(), leaves, materialize_grads=True)
    return result.detach(), list(gradients)


def largest_tensor(implementation, inputs):
    """Return whether the result has the right shape, and whether any tensor was far too large."""
    import torch

    sizes = [0]

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor) and result.dim() and not result.stride().count(0):
                sizes.append(result.numel())
            return result

    query, key, value, mask = inputs["arguments"]
    with Watch():
        result = implementation(query, key, value, mask)
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    n_texts = query.shape[:-2].numel()
    limit = 8 * n_texts * n_queries * n_keys
    shape = (*query.shape[:-1], value.shape[-1])
    return tuple(result.shape) == tuple(shape), max(sizes) < limit


# -- the reference version -------------------------------------------------------------------------


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Ask the package, whose masks have two axes at least."""
    return attention.attend(query, key, value, None if mask is None else torch.atleast_2d(mask))


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Without a mask the result is softmax(query key^T / sqrt(K)) value, written out.",
        draw_without_mask,
        call,
        4,
    ),
    near_part(
        "masks",
        "A query looks only where the mask is True, for masks of any shape that broadcasts.",
        draw_masks,
        call,
        3,
    ),
    near_part(
        "nowhere to look",
        "A row that may look nowhere gives zeros, and gradients of zero.",
        draw_nowhere,
        nowhere,
        1.5,
        saying("", "{} in the gradients", judge=near),
    ),
    near_part(
        "hidden",
        "What is hidden has no influence at all, however large it is.",
        draw_hidden,
        call,
        1,
    ),
    near_part("large scores", "Scores may be very large or small.", draw_large_scores, call, 1),
    near_part("gradients", FLOWS, draw_gradients, differentiate, 1),
    Part(
        "memory",
        "No tensor holds a number for each query, key and feature at once.",
        draw_memory,
        largest_tensor,
        judge=saying(
            "the shape of the result is another",
            "a tensor is made that is far larger than the scores of all queries and keys",
        ),
        weight=0.5,
    ),
    any_layout(draw_all, 0.5, CONTRACT),
    *keeps(draw_precise, draw_hard),
    not_allowed(FORBIDDEN, draw_without_mask),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(query, key, value, mask=None):
    """The answer that the mistakes start from."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        lowest = torch.finfo(scores.dtype).min
        weights = torch.softmax(scores.masked_fill(~mask, lowest), dim=-1)
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value


@mistake(
    hint="You call torch's own function. This task is to write it out: scores, scale, mask, "
    "softmax, weighted sum."
)
def library_attention(query, key, value, mask=None):
    """Torch's own function is called."""
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value)
    some = mask.any(dim=-1, keepdim=True)
    result = F.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~some)
    return result.masked_fill(~some, 0.0)


@mistake(
    hint="You take exponentials of the scores themselves, and those of large scores are infinite. "
    "Subtract the row's largest score first, or use torch.softmax."
)
def overflow(query, key, value, mask=None):
    """The exponentials overflow."""
    powers = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).exp()
    if mask is not None:
        powers = torch.where(mask, powers, 0.0)
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-300) @ value


@mistake(
    hint="You multiply every query with every key, feature by feature, before you sum up. That is "
    "one tensor of T·S·K numbers: a matrix product needs only T·S."
)
def too_much_memory(query, key, value, mask=None):
    """All products of features are held at once."""
    products = query.unsqueeze(-2) * key.unsqueeze(-3)
    scores = products.sum(dim=-1) / math.sqrt(query.shape[-1])
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~allowed, lowest), dim=-1)
    return weights.masked_fill(~allowed, 0.0) @ value


@mistake(
    hint="A row that may look nowhere is nan in your result: 0 / 0, as where all its scores are "
    "minus infinity. Such rows are zeros: give them finite scores, and set their weights to 0 "
    "afterwards."
)
def nan_rows(query, key, value, mask=None):
    """A row that may look nowhere is nan."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@mistake(
    hint="Your result is right, but in a row that may look nowhere the gradient is nan, as where "
    "nan was replaced by 0 after the softmax: going backward it is still there, and ruins all "
    "weights."
)
def nan_in_the_gradient(query, key, value, mask=None):
    """A row that may look nowhere has zeros, but nan in its gradient."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
    return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ value


@mistake(
    hint="You fill with a number such as -1e9. A row that may look nowhere then looks everywhere, "
    "and a score below that number loses against what is hidden."
)
def leaky_fill(query, key, value, mask=None):
    """Hidden scores are -1e9, which is not low enough."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1) @ value


@mistake(
    hint="You change the query that you were given, by dividing it in place. Make a new tensor: "
    "the caller still needs the old one."
)
def scale_in_place(query, key, value, mask=None):
    """The query is divided in place."""
    with torch.no_grad():
        query /= math.sqrt(query.shape[-1])
    scores = query @ key.transpose(-2, -1)
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~mask, lowest), dim=-1)
    return weights.masked_fill(~mask, 0.0) @ value


_FILL = "torch.softmax(scores.masked_fill(~mask, lowest), dim=-1)"
_ERASE = "weights = weights.masked_fill(~mask, 0.0)"
MISTAKES = mistakes(
    right_answer,
    mistake(
        "The scale is missing.",
        replace={" / math.sqrt(query.shape[-1])": ""},
        hint="You do not divide by the square root of K. Wide keys give large scores, and then the "
        "softmax looks at one place only and learns nothing.",
    ),
    mistake(
        "The scores are divided by the width, not by its root.",
        replace={"math.sqrt(query.shape[-1])": "query.shape[-1]"},
        hint="You divide by K. The dot product of K independent numbers has the variance K, so its "
        "standard deviation is the square root: divide by that.",
    ),
    mistake(
        "The scale is taken from the width of the values.",
        replace={"math.sqrt(query.shape[-1])": "math.sqrt(value.shape[-1])"},
        hint="Your scale is the width of the values. It is queries and keys that are multiplied, "
        "so their width counts.",
        keeps=0.3,
    ),
    mistake(
        "The scale is taken from the number of keys.",
        replace={"math.sqrt(query.shape[-1])": "math.sqrt(key.shape[-2])"},
        hint="Your scale depends on how many keys there are. It is the width of one key that "
        "counts, its last axis.",
        keeps=0.3,
    ),
    mistake(
        "The scores are multiplied by the root.",
        replace={"(-2, -1) / math.sqrt": "(-2, -1) * math.sqrt"},
        hint="You multiply by the square root of K, so the scores grow instead of shrinking. "
        "Divide.",
    ),
    mistake(
        "The softmax runs over the queries.",
        replace={
            "torch.softmax(scores, dim=-1)": "torch.softmax(scores, dim=-2)",
            "lowest), dim=-1)": "lowest), dim=-2)",
        },
        hint="Your softmax runs over the queries. Each query shares out one whole among the keys, "
        "and these are the last axis.",
    ),
    mistake(
        "The weights are scaled, not the scores.",
        replace={
            " / math.sqrt(query.shape[-1])": "",
            "return weights @ value": "return weights @ value / math.sqrt(query.shape[-1])",
        },
        hint="You divide after the softmax, so the weights no longer sum to 1, and the softmax "
        "still meets large scores. Divide the scores.",
    ),
    mistake(
        "The mask is inverted.",
        replace={
            _FILL: "torch.softmax(scores.masked_fill(mask, lowest), dim=-1)",
            _ERASE: "weights = weights.masked_fill(mask, 0.0)",
        },
        hint="You hide what may be seen. In this course True means: may look. In some of torch's "
        "modules it is the other way round.",
        keeps=0.3,
    ),
    mistake(
        "The mask is not used.",
        replace={"mask is None": "True"},
        hint="You leave the mask out, so every query looks everywhere: at padding, and at what is "
        "to be predicted.",
        keeps=0.3,
    ),
    mistake(
        "The mask comes after the softmax, and the weights no longer sum to 1.",
        replace={_FILL: "torch.softmax(scores, dim=-1)"},
        hint="You set weights to 0 after the softmax. Then those of a row no longer sum to 1: mask "
        "the scores, before the softmax.",
        keeps=0.3,
    ),
    mistake(
        "Hidden scores are set to 0.",
        replace={_FILL: "torch.softmax(scores * mask, dim=-1)", _ERASE: ""},
        hint="You multiply the scores by the mask, so hidden scores are 0. But a score of 0 is an "
        "ordinary one, and its exponential is 1.",
        keeps=0.3,
    ),
    mistake(
        "The mask is added to the scores as a number.",
        replace={_FILL: "torch.softmax(scores + mask, dim=-1)", _ERASE: ""},
        hint="You add the mask to the scores, as 1 and 0. That changes the scores a little, and "
        "hides nothing.",
        keeps=0.3,
    ),
    mistake(
        "A row that may look nowhere takes the mean of all values.",
        replace={_ERASE: ""},
        hint="In a row that may look nowhere all your scores are equally low, and so the row looks "
        "everywhere. The contract asks for zeros there.",
    ),
    leaky_fill,
    nan_rows,
    nan_in_the_gradient,
    mistake(
        "The mask is taken from the first text for all of them.",
        replace={
            _FILL: "torch.softmax(scores.masked_fill(~mask.reshape(-1, *mask.shape[-2:])[0], "
            "lowest), dim=-1)",
            _ERASE: "weights = weights.masked_fill(~mask.reshape(-1, *mask.shape[-2:])[0], 0.0)",
        },
        hint="You use the mask of the first text for all texts. Each has padding of its own: let "
        "the mask broadcast.",
        keeps=0.3,
    ),
    mistake(
        "Axes are counted from the left.",
        replace={"key.transpose(-2, -1)": "key.transpose(1, 2)"},
        hint="You swap the axes 1 and 2. With heads there is one more axis on the left: count from "
        "the right, -2 and -1.",
        keeps=0.3,
    ),
    mistake(
        "Dropout is always on.",
        replace={"weights @ value": "F.dropout(weights, 0.1) @ value"},
        hint="You drop weights at random. Nothing in the contract asks for it; outside training "
        "the same inputs must give the same result.",
    ),
    mistake(
        "There is no mask, and the function breaks.",
        replace={"if mask is None": "if False"},
        hint="Your function breaks if the mask is None. None means that every query may look "
        "everywhere.",
    ),
    mistake(
        "Everything is computed in float32.",
        replace={
            "query @ key.transpose(-2, -1)": "query.float() @ key.float().transpose(-2, -1)",
            "return weights @ value": "return (weights @ value.float()).to(value.dtype)",
        },
        hint="You turn the tensors into float32 on the way. Whoever gives you float64 wants its "
        "accuracy back.",
    ),
    mistake(
        "The weights are detached from the graph.",
        replace={"weights @ value": "weights.detach() @ value"},
        hint="You detach the weights, so no gradient reaches queries and keys, and nobody learns "
        "where to look.",
    ),
    library_attention,
    overflow,
    too_much_memory,
    scale_in_place,
)

CHECK = Check(
    item="ps4_attend",
    points=15,
    target="attend",
    reference=attend,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  →  "
        "scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])": (
            "two axes are exchanged, whichever is named first"
        ),
    },
)
