"""The task "cross-attention"."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.layers.attention import MultiHeadAttention

from ..contracts import Contract
from ..tensors import (
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near_part,
    normal,
    tensor_case,
)
from .inputs import ATTENTION

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T D; B S M; B S; -; -", empty="B")


def _weights(
    rng: Generator, dtype: str, width: int, d_memory: int, scale: float = 0.8
) -> dict[str, Tensor]:
    return {
        "query": normal(rng, dtype, width, width, scale=scale),
        "key": normal(rng, dtype, width, d_memory, scale=scale),
        "value": normal(rng, dtype, width, d_memory),
        "output": normal(rng, dtype, width, width),
    }


def _mask(lengths: list[int], S: int) -> Tensor:
    """True at the first places of each row."""
    return torch.arange(S) < torch.tensor(lengths).unsqueeze(-1)


def _case(
    rng: Generator,
    sizes: tuple[int, int, int, int, int],
    n_heads: int,
    dtype: str = "float64",
    *,
    mask: Tensor | None = None,
    what: str = "",
    scale: float = 0.8,
) -> Case:
    """Draw a case of sizes B, T, S, D and the width of the memory; by default all is real."""
    batch_size, T, S, width, d_memory = sizes
    mask = torch.ones(batch_size, S, dtype=torch.bool) if mask is None else mask
    arguments = [
        normal(rng, dtype, batch_size, T, width),
        normal(rng, dtype, batch_size, S, d_memory),
        mask,
        _weights(rng, dtype, width, d_memory, scale),
        n_heads,
    ]
    heads = f"{n_heads} head{'s' * (n_heads > 1)}"
    label = f"B, T, S, D = {batch_size}, {T}, {S}, {width}, memory {d_memory} wide, {heads}{what}"
    return tensor_case(label, dtype, *arguments)


def draw_one_head(rng: Generator) -> list[Case]:
    """One head, all memory real; memory as long and as wide as x, and not."""
    return [
        _case(rng, (1, 1, 1, 2, 3), 1),
        _case(rng, (1, 3, 4, 4, 4), 1),
        _case(rng, (2, 3, 3, 5, 5), 1),
        _case(rng, (3, 2, 5, 3, 7), 1, "float32"),
    ]


def draw_many_heads(rng: Generator) -> list[Case]:
    """Several heads, all memory real; heads of one entry, too."""
    return [
        _case(rng, (1, 2, 3, 4, 3), 2),
        _case(rng, (2, 4, 4, 6, 6), 3),
        _case(rng, (2, 3, 5, 8, 4), 2, "float32"),
        _case(rng, (2, 5, 3, 3, 4), 3),
    ]


def draw_padded(rng: Generator) -> list[Case]:
    """Memories that end early, or have holes, whose queries reach further than they do."""
    holes = torch.tensor([[True, False, True, True, False], [False, True, False, True, True]])
    return [
        _case(rng, (1, 2, 3, 4, 4), 1, mask=_mask([2], 3), what=", 2 real"),
        _case(rng, (3, 4, 4, 6, 5), 2, mask=_mask([4, 1, 2], 4), what=", 4, 1 and 2 real"),
        _case(rng, (2, 3, 5, 4, 3), 2, "float32", mask=holes, what=", with holes"),
        _case(rng, (2, 6, 2, 6, 6), 3, mask=_mask([1, 2], 2), what=", 1 and 2 real"),
        _case(rng, (2, 3, 4, 4, 4), 1, mask=_mask([4, 1], 4), what=", 4 and 1 real"),
    ]


def draw_blind(rng: Generator) -> list[Case]:
    """Rows whose memory holds nothing real."""
    return [
        _case(rng, (1, 2, 3, 4, 4), 2, mask=_mask([0], 3), what=", none real"),
        _case(rng, (3, 2, 4, 4, 5), 2, mask=_mask([3, 0, 4], 4), what=", 3, none and 4 real"),
    ]


def draw_layouts(rng: Generator) -> list[Case]:
    """A batch of three, with padding."""
    return draw_padded(rng)[1:2]


def draw_extremes(rng: Generator) -> list[Case]:
    """Scores thousands apart, of which the masked ones may be the largest by far."""
    return _draw_far(rng, {"float64": 1e30, "float32": 1e30})


def _draw_far(rng: Generator, scales: dict[str, float]) -> list[Case]:
    cases = []
    for dtype, scale in scales.items():
        case = _case(
            rng, (2, 3, 4, 4, 4), 2, dtype, mask=_mask([3, 2], 4), what=f", {scale:.0e} apart"
        )
        x, memory, _, weights, _ = case.inputs["arguments"]
        # Keys are the memory itself and queries x: real places score far below 0, masked ones far
        # above, below any number that "surely is low enough". Steps of their own keep the winner
        # clear.
        weights["query"].copy_(torch.eye(4))
        weights["key"].copy_(torch.eye(4))
        x.copy_((x.abs() + 20) * scale)
        steps = torch.tensor([-310.0, -290.0, 400.0, 900.0], dtype=memory.dtype)
        memory.copy_(memory.abs() + steps[:, None])
        cases.append(case)
    return cases


def draw_properties(rng: Generator) -> list[Case]:
    """Memories to be shuffled, padded further, and filled with other padding."""
    cases = []
    for sizes, n_heads, lengths in [
        ((1, 2, 3, 4, 4), 1, [2]),
        ((2, 4, 5, 6, 3), 2, [3, 4]),
        ((3, 3, 4, 4, 5), 2, [1, 3, 2]),
    ]:
        # So small that no softmax has but one place, and changes show.
        case = _case(rng, sizes, n_heads, mask=_mask(lengths, sizes[2]), scale=0.3)
        x, memory, mask, weights, _ = case.inputs["arguments"]
        order = torch.from_numpy(rng.permutation(sizes[2]).copy())
        filling = normal(rng, "float64", *memory.shape, scale=50.0)
        inputs = {
            "x": x,
            "memory": memory,
            "mask": mask,
            "weights": weights,
            "n_heads": n_heads,
            "order": order,
            "filling": filling,
        }
        cases.append(Case(case.label, inputs))
    return cases


def draw_for_gradients(rng: Generator) -> list[Case]:
    """A few of each kind; a row that sees nothing has a gradient of zeros."""
    return [
        draw_one_head(rng)[1],
        draw_many_heads(rng)[1],
        *draw_padded(rng)[1:3],
        draw_blind(rng)[1],
    ]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy: float64 has lower scores than float32."""
    lowest = _draw_far(rng, {"float64": 1e37})
    return [*draw_one_head(rng)[1:], *draw_many_heads(rng), *lowest]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    empty = CONTRACT.forms(draw_layouts)(rng)[-1:]
    return [*draw_padded(rng), *draw_blind(rng), *draw_extremes(rng), *empty]


# -- probes ----------------------------------------------------------------------------------------


def look_at_padding(implementation, inputs):
    """Return whether other padding, and more of it, changes nothing."""
    import torch

    x, memory, mask = inputs["x"], inputs["memory"], inputs["mask"]
    rest = inputs["weights"], inputs["n_heads"]
    close = {"rtol": 1e-4, "atol": 1e-5}
    before = implementation(x, memory, mask.clone(), *rest)
    filled = torch.where(mask.unsqueeze(-1), memory, inputs["filling"])
    same_filled = torch.allclose(implementation(x, filled, mask.clone(), *rest), before, **close)
    more = torch.cat([memory, inputs["filling"]], dim=1)
    wider = torch.cat([mask, torch.zeros_like(mask)], dim=1)
    same_longer = torch.allclose(implementation(x, more, wider, *rest), before, **close)
    moved = implementation(x, memory * 2 + 1, mask.clone(), *rest)
    return same_filled, same_longer, not torch.allclose(moved, before, **close)


def look_at_order(implementation, inputs):
    """Return whether the memory's order plays no part, nor do other positions of x."""
    import torch

    x, memory, mask = inputs["x"], inputs["memory"], inputs["mask"]
    rest = inputs["weights"], inputs["n_heads"]
    order, close = inputs["order"], {"rtol": 1e-4, "atol": 1e-5}
    before = implementation(x, memory, mask.clone(), *rest)
    shuffled = implementation(x, memory[:, order], mask[:, order], *rest)
    alone = implementation(x[:, -1:], memory, mask.clone(), *rest)
    moved = implementation(x * 2 + 1, memory, mask.clone(), *rest)
    return (
        torch.allclose(shuffled, before, **close),
        torch.allclose(alone[:, 0], before[:, -1], **close),
        bool(mask.sum(dim=1).max() < 2) or not torch.allclose(moved, before, **close),
    )


# -- the reference version -------------------------------------------------------------------------


def cross_attention(
    x: Tensor, memory: Tensor, memory_mask: Tensor, weights: dict[str, Tensor], n_heads: int
) -> Tensor:
    """Run the package's layer, written out, on the given weights."""
    with torch.device("meta"):
        layer = MultiHeadAttention(
            x.shape[-1], n_heads, d_memory=memory.shape[-1], has_bias=False, fused=False
        )
    parameters = {f"{name}.weight": weight for name, weight in weights.items()}
    reading = {"mask": memory_mask.unsqueeze(1)}
    if x.numel() == 0:
        return x.clone()
    out: Tensor = torch.func.functional_call(layer, parameters, (x, memory), reading)
    return out


# -- parts -----------------------------------------------------------------------------------------


PARTS = (
    near_part(
        "one head",
        "With one head, x asks and the memory answers: softmax(q k / sqrt(K)) v, then the output.",
        draw_one_head,
        call,
        4,
    ),
    near_part(
        "many heads",
        "Each head reads a stretch of the entries of its own, and all are joined in order.",
        draw_many_heads,
        call,
        4,
    ),
    near_part(
        "padding",
        "What is no real memory gets no weight; the weights of the rest sum to one.",
        draw_padded,
        call,
        2,
    ),
    near_part(
        "padding plays no part",
        "Other padding, or more of it, changes nothing; what is real plays a part.",
        draw_properties,
        look_at_padding,
        1,
        saying(
            "other vectors in the padding make results others, or nan",
            "more padding makes results others, or nan",
            "what is real in the memory plays no part in the results",
        ),
    ),
    near_part(
        "order plays no part",
        "The order of the memory plays no part, nor do the other positions of x.",
        draw_properties,
        look_at_order,
        1,
        saying(
            "the memory in another order makes results others, or nan",
            "a position of x has another result alone than beside others, or nan",
            "the vectors of x play no part in the results",
        ),
    ),
    near_part(
        "no memory",
        "A row whose memory holds nothing real gets zeros, and not nan.",
        draw_blind,
        call,
        1,
    ),
    near_part(
        "extremes",
        "Scores thousands apart give finite weights, and none to padding.",
        draw_extremes,
        call,
        1,
    ),
    any_layout(draw_layouts, 0.5, CONTRACT),
    near_part(
        "gradients",
        "Gradients flow to x, to the memory and to all weights; they are right, and never nan.",
        draw_for_gradients,
        differentiate,
        1,
    ),
    *keeps(draw_ordinary, draw_hard_cases),
    not_allowed(
        ATTENTION, longer=CONTRACT.longer(lambda rng: draw_many_heads(rng)[1:2], "B", "T", "S")
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, memory, memory_mask, weights, n_heads):
    """The answer that the mistakes start from."""

    def split(rows):
        return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    query = split(x @ weights["query"].T)
    key, value = split(memory @ weights["key"].T), split(memory @ weights["value"].T)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    hidden = ~memory_mask[:, None, None, :]
    scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    attention = scores.softmax(dim=-1).masked_fill(hidden, 0.0)
    heads = (attention @ value).transpose(1, 2).flatten(2)
    return heads @ weights["output"].T


@mistake(
    hint="You call torch's own attention. This task is to write it: two products, a mask and a "
    "softmax, in several heads."
)
def library_attention(x, memory, memory_mask, weights, n_heads):
    """Torch's own attention is called."""
    query, key, value = (
        F.linear(source, weights[name]).unflatten(-1, (n_heads, -1)).transpose(1, 2)
        for source, name in ((x, "query"), (memory, "key"), (memory, "value"))
    )
    mask = memory_mask[:, None, None, :]
    sees = mask.any(dim=-1, keepdim=True)
    heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~sees)
    return F.linear(heads.masked_fill(~sees, 0.0).transpose(1, 2).flatten(2), weights["output"])


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. One product gives the "
    "scores of all positions with all of the memory, in every head and text."
)
def position_by_position(x, memory, memory_mask, weights, n_heads):
    """A loop goes over the positions of x."""
    key = (memory @ weights["key"].T).unflatten(-1, (n_heads, -1))
    value = (memory @ weights["value"].T).unflatten(-1, (n_heads, -1))
    hidden = ~memory_mask[:, None, :]
    rows = []
    for row in x.unbind(dim=1):
        query = (row @ weights["query"].T).unflatten(-1, (n_heads, -1))
        scores = torch.einsum("bhk,bshk->bhs", query, key) / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        attention = scores.softmax(dim=-1).masked_fill(hidden, 0.0)
        rows.append(torch.einsum("bhs,bshk->bhk", attention, value).flatten(1))
    return torch.stack(rows, dim=1) @ weights["output"].T


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The scores are not divided.",
        replace={" / math.sqrt(query.shape[-1])": ""},
        hint="You do not divide the scores by sqrt(K). A product of K numbers grows with their "
        "number, and the softmax would soon choose one place alone.",
        keeps=0.5,
    ),
    mistake(
        "The scores are divided by the root of the whole width.",
        replace={"math.sqrt(query.shape[-1])": "math.sqrt(x.shape[-1])"},
        hint="You divide by the root of D. Each head has K entries, D / n_heads, and so its "
        "scores are divided by the root of K.",
    ),
    mistake(
        "The scores are divided by the width itself, without a root.",
        replace={"math.sqrt(query.shape[-1])": "query.shape[-1]"},
        hint="You divide by K, without the root. The *variance* of a score grows with K, and so "
        "its size with the root of K.",
        keeps=0.5,
    ),
    mistake(
        "Queries come from the memory, keys and values from x.",
        replace={
            '(x @ weights["query"].T)': '(memory @ weights["query"].T)',
            '(memory @ weights["key"].T)': '(x @ weights["key"].T)',
            '(memory @ weights["value"].T)': '(x @ weights["value"].T)',
            "memory_mask[:, None, None, :]": "memory_mask[:, None, :, None]",
        },
        hint="You let the memory ask and x answer. The decoder asks: queries come from x, and keys "
        "and values from the memory. The result has as many positions as x.",
    ),
    mistake(
        "Keys and values come from x: self-attention.",
        replace={
            '(memory @ weights["key"].T)': '(x @ weights["key"].T)',
            '(memory @ weights["value"].T)': '(x @ weights["value"].T)',
        },
        hint="Your keys and values come from x: that is self-attention. Here x asks, and the "
        "memory answers.",
    ),
    mistake(
        "Keys and values have each other's weights.",
        replace={'weights["key"]': 'weights["value"]', 'weights["value"]': 'weights["key"]'},
        hint="You swap the weights of keys and values. Keys decide where to look; values are what "
        "is taken from there.",
        keeps=0.5,
    ),
    mistake(
        "The mask is ignored.",
        replace={
            "hidden = ~memory_mask[:, None, None, :]": (
                "hidden = torch.zeros_like(scores, dtype=torch.bool)"
            )
        },
        hint="You do not use `memory_mask`. Padding then gets its share of every average, so a "
        "text's translation depends on how long the others in its batch are.",
    ),
    mistake(
        "The mask is inverted.",
        replace={"~memory_mask[:, None, None, :]": "memory_mask[:, None, None, :]"},
        hint="You hide what is real and look at the padding. In this course True means: real, may "
        "be looked at.",
        keeps=0.5,
    ),
    mistake(
        "The mask comes after the softmax, so the weights no longer sum to one.",
        replace={
            "scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)": "",
        },
        hint="You erase weights after the softmax. Those that are left sum to less than one, as "
        "padding has taken part in the sum: mask the scores before it.",
    ),
    mistake(
        "Hidden scores are set to 0.",
        replace={
            "scores.masked_fill(hidden, torch.finfo(scores.dtype).min)": (
                "scores.masked_fill(hidden, 0.0)"
            ),
            "scores.softmax(dim=-1).masked_fill(hidden, 0.0)": "scores.softmax(dim=-1)",
        },
        hint="You set hidden scores to 0. But the softmax of 0 is no zero: a score of 0 is as "
        "good as many others. Only minus infinity, or nearly so, gets no weight.",
    ),
    mistake(
        "A number of ordinary size is subtracted from hidden scores.",
        replace={
            "scores.masked_fill(hidden, torch.finfo(scores.dtype).min)": (
                "scores - 1e4 * hidden.to(x.dtype)"
            ),
            "scores.softmax(dim=-1).masked_fill(hidden, 0.0)": (
                "scores.softmax(dim=-1) * (~hidden).any(dim=-1, keepdim=True)"
            ),
        },
        hint="You subtract 10000 from hidden scores. Where scores are thousands apart, padding "
        "still wins: replace hidden scores, and do not only lower them.",
    ),
    mistake(
        "A memory without anything real gives nan.",
        replace={
            "torch.finfo(scores.dtype).min": "-torch.inf",
            ".masked_fill(hidden, 0.0)": "",
        },
        hint="Where nothing of the memory is real, your result is nan: a softmax of nothing but "
        "minus infinity is 0 / 0. The contract asks for zeros there, in the gradient, too.",
    ),
    mistake(
        "A memory without anything real is averaged.",
        replace={".masked_fill(hidden, 0.0)": ""},
        hint="Where nothing of the memory is real, all scores are equally low, so you average the "
        "padding. The contract asks for zeros there: erase these weights after the softmax.",
    ),
    mistake(
        "The weights sum to one over the positions of x.",
        replace={"scores.softmax(dim=-1)": "scores.softmax(dim=-2)"},
        hint="Your softmax runs over the positions that ask. For each of them the weights of the "
        "*memory* sum to one: the last axis.",
    ),
    mistake(
        "Heads are cut by a reshape alone, across positions.",
        replace={
            "rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)": (
                "rows.reshape(len(x), n_heads, rows.shape[1], x.shape[2] // n_heads)"
            )
        },
        hint="You reshape to (B, n_heads, T, K) at once, and positions get mixed up. Split the "
        "last axis, (B, T, n_heads, K), then swap the two in the middle.",
        keeps=0.3,
    ),
    mistake(
        "Heads are joined without moving their axis back.",
        replace={
            "(attention @ value).transpose(1, 2).flatten(2)": "(attention @ value).reshape(x.shape)"
        },
        hint="You reshape (B, n_heads, T, K) to (B, T, D) at once, and positions get mixed up. "
        "Move the heads' axis back beside K first, then join.",
    ),
    mistake(
        "A head takes every n-th entry instead of one stretch.",
        replace={
            "rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)": (
                "rows.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)"
            ),
            "(attention @ value).transpose(1, 2)": "(attention @ value).permute(0, 2, 3, 1)",
        },
        hint="Your head takes every n-th entry. A head is one stretch of K neighbouring entries: "
        "the first K are head 0.",
    ),
    mistake(
        "There is only one head, whatever n_heads is.",
        replace={"rows.unflatten(-1, (n_heads, -1))": "rows.unflatten(-1, (1, -1))"},
        hint="You attend once with the full width. Each head has its own stretch of the entries, "
        "and weights of its own: several places can be looked at.",
    ),
    mistake(
        "The heads are not mixed by the output weights.",
        replace={'return heads @ weights["output"].T': "return heads"},
        hint="You leave out the last product. The heads lie side by side; `output` mixes them.",
        keeps=0.3,
    ),
    mistake(
        "A causal mask is added.",
        replace={
            "hidden = ~memory_mask[:, None, None, :]": "hidden = ~(memory_mask[:, None, None, :] & "
            "torch.ones_like(scores, dtype=torch.bool).tril())"
        },
        hint="You hide later places of the memory. The source is known as a whole, so every "
        "position may look at all of it: only padding is hidden.",
        keeps=0.5,
    ),
    mistake(
        "The input is added to the result.",
        replace={"return heads @": "return x + heads @"},
        hint="You add x to the result. The residual connection is the block's business: this layer "
        "returns only what is to be added.",
        keeps=0.5,
    ),
    mistake(
        "The caller's mask is inverted in place.",
        replace={
            "hidden = ~memory_mask[:, None, None, :]": (
                "hidden = memory_mask.logical_not_()[:, None, None, :]"
            )
        },
        hint="The result is right, but afterwards the caller's mask says the opposite. A method "
        "whose name ends in an underscore works in place: use `~memory_mask`.",
    ),
    mistake(
        "No gradient flows into the memory.",
        replace={'(memory @ weights["value"].T)': '(memory.detach() @ weights["value"].T)'},
        hint="The values are right, but you detach the memory. The encoder learns only through "
        "cross-attention: let gradients flow.",
    ),
    library_attention,
    position_by_position,
)

CHECK = Check(
    item="ps5_cross_attention",
    points=13,
    target="cross_attention",
    reference=cross_attention,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "heads = (attention @ value).transpose(1, 2).flatten(2)  →  heads = (attention @ "
        "value).transpose(2, 1).flatten(2)": "Two axes swap in either order.",
        "return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)  →  return "
        "rows.unflatten(-1, (n_heads, -1)).transpose(2, 1)": "Two axes swap in either order.",
    },
)
