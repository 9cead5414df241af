"""The task "multi-head attention"."""

import math
from collections.abc import Mapping

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
    near_part,
    normal,
    tensor_case,
)
from .inputs import some_allowed

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T D; -; -; *more T T")
FORBIDDEN = ("multi_head_attention_forward", "_native_multi_head_attention")
NAMES = ("query", "key", "value", "output")


def _case(
    rng: Generator,
    sizes: tuple[int, int, int, int],
    dtype: str,
    mask: Tensor | None = None,
    what: str = "",
) -> Case:
    B, T, D, H = sizes
    weights = {name: normal(rng, dtype, D, D, scale=1.4 / math.sqrt(D)) for name in NAMES}
    label = f"B {B}, T {T}, D {D}, {H} heads{what}"
    x = normal(rng, dtype, B, T, D)
    return tensor_case(label, dtype, x, weights, H, mask)


def draw_without_mask(rng: Generator) -> list[Case]:
    """One head and several, sizes of 1, and one case with all sizes equal."""
    return [
        _case(rng, sizes, dtype)
        for sizes, dtype in [
            ((1, 2, 4, 2), "float64"),
            ((2, 5, 6, 3), "float64"),
            ((3, 4, 8, 2), "float32"),
            ((2, 3, 5, 1), "float64"),
            ((4, 4, 4, 4), "float64"),
            ((3, 1, 6, 2), "float64"),
        ]
    ]


def draw_masks(rng: Generator) -> list[Case]:
    """Masks of all shapes that broadcast; every row may look somewhere."""
    cases = []
    for sizes, dtype, shape in [
        ((1, 3, 4, 2), "float64", (3, 3)),
        ((2, 4, 6, 3), "float64", (2, 1, 1, 4)),
        ((2, 5, 8, 2), "float32", (2, 1, 5, 5)),
        ((3, 4, 6, 2), "float64", (2, 4, 4)),
        ((2, 3, 4, 2), "float64", (2, 2, 3, 3)),
        ((2, 2, 4, 2), "float64", (2, 1, 2, 2)),
    ]:
        mask = some_allowed(rng, *shape)
        cases.append(_case(rng, sizes, dtype, mask, f", mask {shape}"))
    lower = torch.ones(5, 5, dtype=torch.bool).tril()
    cases.append(_case(rng, (2, 5, 6, 2), "float64", lower, ", a causal mask"))
    cases.append(_lowest(rng, 1e17))
    # As many texts as heads: by the rules of broadcasting, three axes are the heads'.
    mask = torch.stack([torch.eye(3, dtype=torch.bool), torch.ones(3, 3, dtype=torch.bool).tril()])
    cases.append(_case(rng, (2, 3, 4, 2), "float64", mask, ", mask (2, 3, 3)"))
    return cases


def _lowest(rng: Generator, scale: float) -> Case:
    """What place 0 may see, itself, scores below any number that "surely is low enough"."""
    lower = torch.ones(5, 5, dtype=torch.bool).tril()
    low = _case(rng, (2, 5, 6, 2), "float64", lower, f", of {scale:g}, scores far below 0")
    x, weights, _, _ = low.inputs["arguments"]
    weights["key"] = -weights["query"]  # keys are the queries turned round, and long
    x.mul_(scale)
    return low


def draw_precise(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy: float64 has lower scores than float32."""
    return [*draw_all(rng), _lowest(rng, 1e20)]


def draw_causal(rng: Generator) -> list[Case]:
    """Causal masks."""
    sizes = [(1, 3, 4, 2), (2, 6, 6, 3), (3, 5, 4, 1)]
    masks = [torch.ones(T, T, dtype=torch.bool).tril() for _, T, _, _ in sizes]
    return [_case(rng, s, "float64", m, ", causal") for s, m in zip(sizes, masks, strict=True)]


def draw_padded(rng: Generator) -> list[Case]:
    """Texts of several lengths, filled up on the right."""
    cases = []
    for sizes, lengths in [((2, 4, 4, 2), [4, 2]), ((3, 5, 6, 3), [1, 5, 3])]:
        is_real = torch.arange(sizes[1]) < torch.tensor(lengths)[:, None]
        mask = is_real[:, None, None, :]
        cases.append(_case(rng, sizes, "float64", mask, f", of {lengths} tokens"))
    return cases


def draw_all(rng: Generator) -> list[Case]:
    """With and without a mask."""
    return [*draw_without_mask(rng)[1:3], *draw_masks(rng)[1:4]]


# -- probes ----------------------------------------------------------------------------------------


def ignores_the_future(implementation, inputs):
    """Change the last places; return whether places before them, and they themselves, change."""
    import torch

    x, weights, n_heads, mask = inputs["arguments"]
    cut = x.shape[1] - 2
    other = x.clone()
    other[:, cut:] = 3 * other[:, cut:].flip(-1) + 1
    first = implementation(x.clone(), weights, n_heads, mask)
    second = implementation(other, weights, n_heads, mask)
    same = torch.allclose(first[:, :cut], second[:, :cut], rtol=1e-6, atol=1e-7)
    return tuple(first.shape), same, not torch.allclose(first[:, cut:], second[:, cut:])


def ignores_padding(implementation, inputs):
    """Change what is padding, and add more; return whether what is real changes by it."""
    import torch

    x, weights, n_heads, mask = inputs["arguments"]
    is_real = mask[:, 0, 0]
    changed = torch.where(is_real[:, :, None], x, 40 * x.flip(-1) + 3)
    longer = torch.cat([x, x[:, :2] - 9], dim=1)
    more = torch.cat([mask, torch.zeros_like(mask[..., :2])], dim=-1)
    first = implementation(x.clone(), weights, n_heads, mask)
    second = implementation(changed, weights, n_heads, mask)
    third = implementation(longer, weights, n_heads, more)[:, : x.shape[1]]
    return tuple(first.shape), *(
        torch.allclose(first[is_real], found[is_real], rtol=1e-6, atol=1e-7)
        for found in (second, third)
    )


# -- the reference version -------------------------------------------------------------------------


def multi_head_attention(
    x: Tensor, weights: Mapping[str, Tensor], n_heads: int, mask: Tensor | None = None
) -> Tensor:
    """Attend with the package's function, in all heads at once."""
    heads = (
        F.linear(x, weights[name]).unflatten(-1, (n_heads, -1)).transpose(1, 2)
        for name in NAMES[:3]
    )
    joined = attention.attend(*heads, mask).transpose(1, 2).flatten(2)
    return F.linear(joined, weights["output"])


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Without a mask: project, split, attend in each head, join, mix; and written out.",
        draw_without_mask,
        call,
        4,
    ),
    near_part(
        "masks",
        "A place looks only where the mask is True, in every head.",
        draw_masks,
        call,
        2,
    ),
    Part(
        "causality",
        "Under a causal mask what comes later changes nothing before it.",
        draw_causal,
        ignores_the_future,
        judge=saying(
            "the shape of the result is another",
            "what comes later makes results before it others, or nan",
            "where the last vectors change, their own results stay as they were",
        ),
        weight=1,
    ),
    Part(
        "padding",
        "What stands in the padding, and how much of it, changes nothing that is real.",
        draw_padded,
        ignores_padding,
        judge=saying(
            "the shape of the result is another",
            "other vectors in the padding make results at real positions others, or nan",
            "more padding makes results at real positions others, or nan",
        ),
        weight=1,
    ),
    near_part("gradients", FLOWS, draw_all, differentiate, 1),
    any_layout(draw_all, 0.5, CONTRACT),
    *keeps(draw_precise),
    not_allowed(FORBIDDEN, draw_without_mask),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, weights, n_heads, mask=None):
    """The answer that the mistakes start from."""
    d_head = x.shape[-1] // n_heads
    query, key, value = (
        (x @ weights[name].T).unflatten(-1, (n_heads, d_head)).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_head)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    heads = torch.softmax(scores, dim=-1) @ value
    joined = heads.transpose(1, 2).flatten(2)
    return joined @ weights["output"].T


@mistake(
    hint="You call torch's own function for several heads. This task is to write it out: project, "
    "split, attend, join, mix."
)
def library_heads(x, weights, n_heads, mask=None):
    """Torch's own function for several heads is called."""
    B, T, D = x.shape
    blocks = None
    if mask is not None:
        blocks = ~mask.expand(B, n_heads, T, T).reshape(B * n_heads, T, T)
    result, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1),) * 3,
        D,
        n_heads,
        torch.cat([weights["query"], weights["key"], weights["value"]]),
        None,
        None,
        None,
        False,
        0.0,
        weights["output"],
        None,
        attn_mask=blocks,
        need_weights=False,
    )
    return result.transpose(0, 1)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The heads are not mixed at the end.",
        replace={'joined @ weights["output"].T': "joined"},
        hint="You return the joined heads. The output matrix is still to come: it lets what one "
        "head has found meet what the others have.",
        keeps=0.3,
    ),
    mistake(
        "The weights are not transposed.",
        replace={"weights[name].T": "weights[name]", 'weights["output"].T': 'weights["output"]'},
        hint="You multiply by the weights as they are. Each has one row for each number of its "
        "result, as in nn.Linear: transpose. As they are square, nothing complains.",
        keeps=0.3,
    ),
    mistake(
        "The output matrix is not transposed.",
        replace={'weights["output"].T': 'weights["output"]'},
        hint="You transpose three of the weights but not the output matrix. All four have one row "
        "for each number of their result.",
        keeps=0.3,
    ),
    mistake(
        "The heads are split by a reshape alone.",
        replace={
            ".unflatten(-1, (n_heads, d_head)).transpose(1, 2)": (
                ".reshape(len(x), n_heads, -1, d_head)"
            ),
        },
        hint="You reshape straight to (B, H, T, K), so a head gets stretches of several places. "
        "First split the last axis, then transpose.",
        keeps=0.3,
    ),
    mistake(
        "The heads are joined by a reshape alone.",
        replace={"heads.transpose(1, 2).flatten(2)": "heads.reshape(x.shape)"},
        hint="You join the heads without a transpose. The shape is right, but a place then gets "
        "numbers of other places.",
        keeps=0.3,
    ),
    mistake(
        "The scale is taken from the whole width.",
        replace={"math.sqrt(d_head)": "math.sqrt(x.shape[-1])"},
        hint="You divide by the square root of D. The dot product is taken inside a head, over "
        "D / H numbers: divide by the root of those.",
        keeps=0.3,
    ),
    mistake(
        "The scale is missing.",
        replace={" / math.sqrt(d_head)": ""},
        hint="You do not divide the scores by the square root of a head's width.",
        keeps=0.3,
    ),
    mistake(
        "There is one head, whatever n_heads says.",
        replace={
            "d_head = x.shape[-1] // n_heads": "n_heads, d_head = 1, x.shape[-1]",
        },
        hint="You attend once, with all D numbers. There are n_heads heads, each of which looks at "
        "its own part, and may look elsewhere.",
    ),
    mistake(
        "The places of one head are the heads of another: attention runs across heads.",
        replace={
            ".unflatten(-1, (n_heads, d_head)).transpose(1, 2)": (
                ".unflatten(-1, (n_heads, d_head))"
            ),
            "if mask is not None": "if False",
            "heads.transpose(1, 2).flatten(2)": "heads.flatten(2)",
        },
        hint="You leave out the transpose, so the heads of one place attend to each other and no "
        "place sees another. Bring the heads before the places.",
    ),
    mistake(
        "Query and key are exchanged.",
        replace={"query, key, value = (": "key, query, value = ("},
        hint="You exchange queries and keys. The rows of the scores belong to the places that "
        "look, so queries stand on the left.",
    ),
    mistake(
        "The keys are also the values.",
        replace={"dim=-1) @ value": "dim=-1) @ key"},
        hint="You sum up the keys. What is handed over are the values, which have a matrix of "
        "their own.",
    ),
    mistake(
        "The values are not projected.",
        replace={
            "dim=-1) @ value": "dim=-1) @ x.unflatten(-1, (n_heads, d_head)).transpose(1, 2)",
        },
        hint="You sum up the inputs themselves. The values are the inputs times the matrix "
        '`weights["value"]`.',
    ),
    mistake(
        "The softmax runs over the queries.",
        replace={"torch.softmax(scores, dim=-1)": "torch.softmax(scores, dim=-2)"},
        hint="Your softmax runs over the queries. Each query shares out one whole among the keys, "
        "and these are the last axis.",
    ),
    mistake(
        "The softmax runs over the heads.",
        replace={"torch.softmax(scores, dim=-1)": "torch.softmax(scores, dim=1)"},
        hint="Your softmax runs over the heads. Each head has a softmax of its own over the keys, "
        "the last axis.",
    ),
    mistake(
        "The mask is not used.",
        replace={"if mask is not None": "if False"},
        hint="You leave the mask out, so every place looks everywhere: at padding, and at what is "
        "to be predicted.",
        keeps=0.3,
    ),
    mistake(
        "The mask is inverted.",
        replace={"masked_fill(~mask": "masked_fill(mask"},
        hint="You hide what may be seen. In this course True means: may look.",
        keeps=0.3,
    ),
    mistake(
        "The mask holds for the first head only.",
        replace={
            "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)": """
                low = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
                scores = torch.cat([low[:, :1], scores[:, 1:]], dim=1)
            """,
        },
        hint="You hide places in the first head only. The mask broadcasts: it holds for every "
        "head.",
        keeps=0.3,
    ),
    mistake(
        "The mask must have three axes.",
        replace={"masked_fill(~mask,": "masked_fill(~mask.reshape(-1, *mask.shape[-2:])[:, None],"},
        hint="You put an axis for the heads into the mask yourself. The mask broadcasts to "
        "(B, H, T, T) as it is, and may have two, three or four axes.",
    ),
    mistake(
        "The inputs are added to the result.",
        replace={'joined @ weights["output"].T': 'x + joined @ weights["output"].T'},
        hint="You add the inputs to the result. That residual connection belongs to the block "
        "around attention, not to attention itself.",
        keeps=0.3,
    ),
    mistake(
        "Dropout is always on.",
        replace={"torch.softmax(scores, dim=-1)": "F.dropout(torch.softmax(scores, dim=-1), 0.1)"},
        hint="You drop weights at random. Nothing in the contract asks for it; outside training "
        "the same inputs must give the same result.",
    ),
    library_heads,
)

CHECK = Check(
    item="ps4_multi_head_attention",
    points=14,
    target="multi_head_attention",
    reference=multi_head_attention,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
