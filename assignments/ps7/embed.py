"""The task "what enters the first block"."""

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.layers.blocks import LayerNorm
from course_pkg.models.bert import NORM_EPS

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
from ..token_ids import draw_ids

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T; B T; -")


def _weights(rng: Generator, dtype: str, V: int, longest: int, D: int, scale: float) -> dict:
    shapes = {"token": (V, D), "position": (longest, D), "segment": (2, D)}
    shapes |= {"norm_weight": (D,), "norm_bias": (D,)}
    return {
        name: normal(rng, dtype, *shape, scale=1.0 if name.startswith("norm") else scale)
        for name, shape in shapes.items()
    }


def _case(
    rng: Generator,
    sizes: tuple[int, int, int],
    dtype: str = "float64",
    *,
    V: int = 11,
    spare: int = 3,
    segments: str = "halves",
    scale: float = 10.0,
    offset: float = 0.0,
    what: str = "",
    one_id: bool = False,
) -> Case:
    """Make rows of ids with the least and the largest, and positions beyond the last that is used.

    `segments` are "halves", of another length in each row, "mixed", "ones", or "None".
    """
    B, T, D = sizes
    ids = draw_ids(rng, (B, T), range(V))
    ids[0, 0], ids[-1, -1] = (V - 1, 0) if B * T > 1 else (0, 0)
    if one_id:
        ids[:] = ids[0, 0]
    places, rows = torch.arange(T), torch.arange(B).unsqueeze(1)
    sides = {
        "halves": (places > (T + rows) // 2 - 1).long(),
        "mixed": ((places + rows) % 2),
        "ones": torch.ones(B, T, dtype=torch.int64),
        "None": None,
    }[segments]
    label = f"ids of shape {(B, T)}, width {D}{what}"
    weights = _weights(rng, dtype, V, T + spare, D, scale)
    weights["token"] += offset
    return tensor_case(label, dtype, ids, sides, weights)


def draw_values(rng: Generator) -> list[Case]:
    """Rows of several lengths, with both segments."""
    return [
        _case(rng, (1, 2, 4)),
        _case(rng, (2, 5, 6)),
        _case(rng, (3, 7, 5), "float32"),
        _case(rng, (4, 4, 4), V=4, spare=0, what=", all sizes equal"),
        _case(rng, (5, 3, 8), "float32", V=29, spare=20),
    ]


def draw_segments(rng: Generator) -> list[Case]:
    """No segments, all of them 1, and both in turn."""
    return [
        _case(rng, (2, 3, 5), segments="None", what=", segments None"),
        _case(rng, (2, 5, 4), "float32", segments="ones", what=", all segments 1"),
        _case(rng, (3, 4, 6), segments="mixed", what=", segments in turn"),
    ]


def draw_edges(rng: Generator) -> list[Case]:
    """One position, as many as the table has, the same id everywhere, a dict in another order."""
    ids, segments, weights = _case(rng, (2, 5, 6), V=9, spare=4).inputs["arguments"]
    order = ("position", "token", "segment", "norm_bias", "norm_weight")
    mixed = {name: weights[name] for name in order}
    return [
        _case(rng, (1, 1, 4), what=", one position"),
        _case(rng, (3, 1, 5), "float32", what=", one position"),
        _case(rng, (1, 6, 4), spare=0, what=", no position to spare"),
        _case(rng, (2, 4, 5), one_id=True, what=", the same id everywhere"),
        _case(rng, (2, 3, 7), V=1, what=", one id"),
        tensor_case("weights in another order in the dict", "float64", ids, segments, mixed),
    ]


def draw_scales(rng: Generator) -> list[Case]:
    """Tables of very small numbers, and of large ones."""
    return [
        _case(rng, (2, 3, 6), scale=1e-3, what=", small numbers"),
        _case(rng, (2, 3, 5), scale=1e-6, what=", tiny numbers"),
        _case(rng, (2, 5, 4), "float32", scale=0.002, what=", small numbers"),
        _case(rng, (3, 3, 5), "float32", scale=1e4, what=", large numbers"),
    ]


def draw_offsets(rng: Generator) -> list[Case]:
    """Vectors far from 0, whose entries are close together."""
    return [
        _case(rng, (2, 4, 6), "float32", scale=1.0, offset=1000.0, what=", around 1,000"),
        _case(rng, (3, 2, 8), "float32", scale=1.0, offset=-1000.0, what=", around -1,000"),
    ]


def draw_layouts(rng: Generator) -> list[Case]:
    """Ids, segments and weights with gaps in memory, the dict turned round."""
    return [*draw_values(rng)[:3], draw_segments(rng)[0]]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary ones, with an id that occurs often; entries far apart, so that no eps shows."""
    return [
        _case(rng, (2, 5, 6)),
        _case(rng, (3, 7, 5), "float32"),
        _case(rng, (2, 4, 5), one_id=True, what=", the same id everywhere"),
        _case(rng, (2, 3, 5), segments="None", what=", segments None"),
    ]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy."""
    return draw_values(rng)


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_segments(rng), *draw_edges(rng), *draw_scales(rng)]


# -- the reference version -------------------------------------------------------------------------


def embed(ids: Tensor, segments: Tensor | None, weights: dict[str, Tensor]) -> Tensor:
    """Look up all three tables, and let the package's LayerNorm have the sum."""
    places = torch.arange(ids.shape[1]).expand_as(ids)
    sides = torch.zeros_like(ids) if segments is None else segments
    rows = {"token": ids, "position": places, "segment": sides}
    total = torch.stack([F.embedding(row, weights[name]) for name, row in rows.items()]).sum(dim=0)
    own = {"weight": weights["norm_weight"], "bias": weights["norm_bias"]}
    result: Tensor = functional_call(LayerNorm(total.shape[-1], eps=NORM_EPS), own, (total,))
    return result


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Each vector is the LayerNorm of its token, its position and its segment, added.",
        draw_values,
        call,
        5,
    ),
    near_part(
        "segments",
        "Segments may be anywhere 0 or 1, and None means that all of them are 0.",
        draw_segments,
        call,
        1.5,
    ),
    near_part(
        "edges",
        "There may be one position, or as many as the table has, and the dict has any order.",
        draw_edges,
        call,
        1,
    ),
    near_part(
        "scales",
        "The tables may hold very small numbers and large ones: eps is 1e-12.",
        draw_scales,
        call,
        1,
    ),
    near_part(
        "far from 0",
        "Vectors may be far from 0 and their entries close together.",
        draw_offsets,
        call,
        0.5,
        judge_by(rtol=0, atol=3e-3),
    ),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 1.5),
    any_layout(draw_layouts, 0.5, CONTRACT),
    *keeps(draw_ordinary, draw_hard_cases),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[1:2], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, segments, weights):
    """The answer that the mistakes start from."""
    if segments is None:
        segments = torch.zeros_like(ids)
    positions = torch.arange(ids.shape[1])
    x = weights["token"][ids]
    x = x + weights["position"][positions]
    x = x + weights["segment"][segments]
    weight, bias = weights["norm_weight"], weights["norm_bias"]
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(variance + 1e-12) * weight + bias


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. An index with a whole "
    "tensor of ids looks up all vectors at once."
)
def position_by_position(ids, segments, weights):
    """The positions are embedded in a loop."""
    rows = []
    for row in range(ids.shape[0]):
        places = []
        for t in range(ids.shape[1]):
            side = 0 if segments is None else int(segments[row, t])
            x = weights["token"][int(ids[row, t])] + weights["position"][t]
            places.append(x + weights["segment"][side])
        rows.append(torch.stack(places))
    x = torch.stack(rows)
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The sum is not normalised.",
        replace={"(x - mean) / torch.sqrt(variance + 1e-12) * weight + bias": "x"},
        hint="You return the sum as it is. It goes through LayerNorm first: mean 0 and variance 1 "
        "for each vector, then norm_weight and norm_bias.",
        keeps=0.3,
    ),
    mistake(
        "Positions play no part.",
        replace={'weights["position"][positions]': '0 * weights["position"][positions]'},
        hint="You leave out the vectors of positions. Attention sees a set of vectors: without a "
        "position each word would look the same wherever it stands.",
    ),
    mistake(
        "Segments play no part.",
        replace={'weights["segment"][segments]': '0 * weights["segment"][segments]'},
        hint="You leave out the vectors of segments, so both sides of a pair look alike. Add a row "
        "of the table of segments to each vector.",
    ),
    mistake(
        "Positions count from one.",
        replace={
            "torch.arange(ids.shape[1])": (
                'torch.arange(ids.shape[1]).add(1).clamp(max=len(weights["position"]) - 1)'
            )
        },
        hint="Your first position has row 1 of the table. Positions count from 0, in every row of "
        "the batch.",
        keeps=0.5,
    ),
    mistake(
        "Positions start again at the second segment.",
        replace={
            'weights["position"][positions]': (
                'weights["position"][torch.where(segments == 1, '
                "segments.cumsum(dim=1) - 1, positions)]"
            ),
        },
        hint="You count positions anew in the second text. They go on through the whole row; which "
        "side a token is on is what the segment says.",
    ),
    mistake(
        "Each row of the batch has one position.",
        replace={
            'weights["position"][positions]': (
                'weights["position"][torch.arange(len(ids)).clamp('
                'max=len(weights["position"]) - 1)].unsqueeze(1)'
            )
        },
        hint="You number the rows of the batch and not the positions in a row. The positions are "
        "the second axis of the ids.",
    ),
    mistake(
        "Segments None add no vector at all.",
        replace={
            """
            if segments is None:
                segments = torch.zeros_like(ids)
            """: """
            is_single = segments is None
            if is_single:
                segments = torch.zeros_like(ids)
            """,
            'weights["segment"][segments]': (
                '(0 if is_single else 1) * weights["segment"][segments]'
            ),
        },
        hint="Where segments is None, you add nothing. It means that all segments are 0, and so "
        "row 0 of the table is added everywhere.",
    ),
    mistake(
        "The norm runs over positions and width together.",
        replace={
            "x.mean(dim=-1, keepdim=True)": "x.mean(dim=(-2, -1), keepdim=True)",
            "x.var(dim=-1, keepdim=True": "x.var(dim=(-2, -1), keepdim=True",
        },
        hint="You normalise a whole row at once. Mean and variance are those of each vector by "
        "itself, over its D entries.",
    ),
    mistake(
        "The variance divides by one less than the width.",
        replace={"correction=0": "correction=1"},
        hint="Your vectors are a little too short: the variance of a LayerNorm divides by D, and "
        "not by D - 1 as torch's does if nothing is said.",
        keeps=0.5,
    ),
    mistake(
        "Eps is that of torch, 1e-5.",
        replace={"1e-12": "1e-5"},
        hint="Your vectors are too short where the tables hold small numbers. Eps is 1e-12 here, "
        "and 1e-5 in torch if nothing is said.",
    ),
    mistake(
        "The token's vector is normalised before the others are added.",
        replace={
            'x = weights["token"][ids]': (
                'x = F.layer_norm(weights["token"][ids], weights["norm_bias"].shape)'
            )
        },
        hint="You normalise the vectors of tokens before you add the others. First comes the sum "
        "of all three, then one norm.",
        keeps=0.3,
    ),
    mistake(
        "Tokens are scaled by the root of the width.",
        replace={
            'weights["token"][ids]': 'weights["token"][ids] * weights["token"].shape[1] ** 0.5'
        },
        hint="You multiply the tokens by the root of D, as the transformer of 2017 does. BERT adds "
        "its three vectors as they are.",
        keeps=0.5,
    ),
    mistake(
        "The weights are taken in their order in the dict.",
        replace={
            "positions = torch.arange(ids.shape[1])": """
                positions = torch.arange(ids.shape[1])
                names = ("token", "position", "segment", "norm_weight", "norm_bias")
                weights = dict(zip(names, weights.values(), strict=True))
            """
        },
        hint="You unpack the dict by the order of its entries, and that may be any. Ask for each "
        "weight by its name.",
    ),
    mistake(
        "The bias of the norm is left out.",
        replace={"* weight + bias": "* weight + 0 * bias"},
        hint="Your vectors lack norm_bias. A LayerNorm ends with two learned steps: times the "
        "weight, plus the bias.",
        keeps=0.5,
    ),
    mistake(
        "The weight of the norm is left out.",
        replace={"* weight + bias": "+ 0 * weight + bias"},
        hint="Your vectors lack norm_weight. A LayerNorm ends with two learned steps: times the "
        "weight, plus the bias.",
        keeps=0.5,
    ),
    mistake(
        "The table of positions is a constant.",
        replace={'weights["position"][positions]': 'weights["position"].detach()[positions]'},
        hint="The values are right, but no gradient reaches the table of positions. In BERT it is "
        "learned like the others: do not detach it.",
    ),
    mistake(
        "The result is always float32.",
        replace={
            "return (x - mean) / torch.sqrt(variance + 1e-12) * weight + bias": (
                "return ((x - mean) / torch.sqrt(variance + 1e-12) * weight + bias).float()"
            )
        },
        hint="Your result is float32 also where the weights are float64. It has the dtype of the "
        "weights: no conversion is needed.",
    ),
    mistake(
        "An entry is added to the caller's dict.",
        replace={
            "positions = torch.arange(ids.shape[1])": """
                positions = torch.arange(ids.shape[1])
                weights["bias"] = weights["norm_bias"]
            """
        },
        hint="Your result is right, but the caller's dict has an entry more afterwards. It is the "
        "model's own: do not write into it.",
    ),
    position_by_position,
)

CHECK = Check(
    item="ps7_embed",
    points=10,
    target="embed",
    reference=embed,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
