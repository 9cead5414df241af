"""The task "RMSNorm"."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Inputs, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.layers.blocks import RMSNorm

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    HALF,
    Generator,
    any_layout,
    call,
    differentiate,
    judge_by,
    keeps,
    near,
    near_part,
    normal,
    tensor_case,
)
from .inputs import NORMS, shape_text

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*rows D; D; -", empty="rows")


def _case(
    rng: Generator,
    x: Tensor,
    eps: float,
    what: str = "",
    *,
    is_learned: bool = False,
) -> Case:
    """Make a case with the weight of a new layer, or with a learned one."""
    dtype = str(x.dtype).removeprefix("torch.")
    weight = torch.ones(x.shape[-1], dtype=x.dtype)
    if is_learned:
        weight = weight + 1 + normal(rng, dtype, len(weight))
    label = f"x of shape {shape_text(x.shape)}{what}, eps {eps:g}"
    return tensor_case(label, dtype, x, weight, eps)


def _draw_shapes(rng: Generator, scale: float, *, is_learned: bool) -> list[Case]:
    """One vector, a batch, more axes; the mean is not 0, and eps is small against all numbers."""
    return [
        _case(
            rng,
            scale * (normal(rng, dtype, *shape) + shift),
            1e-5,
            f" near {scale:g}",
            is_learned=is_learned,
        )
        for shape, dtype, shift in [
            ((3,), "float64", 3.0),
            ((2, 5), "float64", -2.0),
            ((4, 3), "float32", 2.5),
            ((2, 3, 7), "float64", 2.0),
            ((5, 1, 2, 6), "float32", -1.5),
            ((2, 1, 2, 3, 2, 4), "float64", 2.5),
            ((2, 300), "float64", 2.0),
        ]
    ]


def draw_new(rng: Generator) -> list[Case]:
    """Vectors in a layer that has not learned yet."""
    return _draw_shapes(rng, 20.0, is_learned=False)


def draw_learned(rng: Generator) -> list[Case]:
    """Vectors in a layer that has learned."""
    return _draw_shapes(rng, 20.0, is_learned=True)


def draw_eps(rng: Generator) -> list[Case]:
    """An eps that shows, or numbers so small that any does."""
    return [
        _case(rng, normal(rng, "float64", 3, 4) + 1, 0.25),
        _case(rng, normal(rng, "float32", 2, 3, 5) + 1, 0.5),
        _case(rng, normal(rng, "float64", 2, 6), 1e-2),
        _case(rng, normal(rng, "float64", 3, 5, scale=1e-4), 1e-5, " near 1e-4"),
        _case(rng, normal(rng, "float32", 4, 6, scale=3e-3), 1e-5, " near 3e-3"),
        _case(rng, normal(rng, "float64", 3, 5, scale=1e-7), 1e-14, " near 1e-7"),
        # Squares that float16 has no number for but 0.
        _case(rng, normal(rng, "float16", 2, 6, scale=3e-5), 1e-12, " near 3e-5"),
        _case(rng, normal(rng, "float16", 2, 6, scale=0.1), 1e-3, " near 0.1"),
    ]


def draw_hard(rng: Generator) -> list[Case]:
    """Zeros, constants, single entries; very large numbers."""
    mixed = normal(rng, "float64", 4, 6)
    mixed[1], mixed[2] = 3.0, 0.0
    return [
        _case(rng, torch.zeros(2, 5, dtype=torch.float32), 1e-5, ", all 0"),
        _case(rng, mixed, 1e-5, ", a row of 3s and one of 0s"),
        _case(rng, 20 * normal(rng, "float64", 3, 1) + 90, 1e-5, ", one entry each"),
        _case(rng, normal(rng, "float32", 2, 7, scale=1e12), 1e-5, " near 1e12"),
        _case(rng, normal(rng, "float64", 2, 7, scale=1e12), 1e-5, " near 1e12"),
    ]


def draw_half(rng: Generator) -> list[Case]:
    """Numbers whose squares are beyond float16, large ones of bfloat16, and many."""
    signs = torch.from_numpy(rng.choice([-1.0, 1.0], (3, 4)))
    large = torch.tensor([300.0, 500.0, 700.0, 900.0], dtype=torch.float64) * signs
    return [
        _case(rng, (normal(rng, "float16", 2, 5) + 9) * torch.tensor([[1], [4]]), 1e-5),
        _case(rng, large.to(torch.float16), 1e-5, " near 600"),
        _case(rng, torch.zeros(2, 3, dtype=torch.float16), 1e-12, ", all 0"),
        _case(rng, normal(rng, "bfloat16", 3, 4) + 9, 1e-5),
        _case(rng, normal(rng, "bfloat16", 2, 7, scale=1e12), 1e-5, " near 1e12"),
        _case(rng, normal(rng, "bfloat16", 2, 6, scale=0.1), 1e-2, " near 0.1"),
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary vectors."""
    return draw_learned(rng)[1:5]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy."""
    return _draw_shapes(rng, 2e4, is_learned=False)


def draw_empty(rng: Generator) -> list[Case]:
    """No vectors at all."""
    return list(CONTRACT.forms(lambda rng: draw_new(rng)[4:6])(rng))[-2:]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_hard(rng), *draw_eps(rng), *draw_empty(rng), *draw_half(rng)]


# -- the reference version -------------------------------------------------------------------------


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Run the package's layer, written out, on the given weight; float16 in float32."""
    wide = torch.promote_types(x.dtype, torch.float32)
    layer = RMSNorm(len(weight), eps=eps, fused=False)
    out: Tensor = torch.func.functional_call(layer, {"weight": weight.to(wide)}, (x.to(wide),))
    return out.to(x.dtype)


# -- parts -----------------------------------------------------------------------------------------

_two_digits = judge_by(**HALF)


def _near(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    judge = _two_digits if inputs["dtype"] == "float16" else near
    return judge(observed, expected, inputs)


PARTS = (
    near_part(
        "values",
        "With weight 1, each vector is divided by the root of its mean square.",
        draw_new,
        call,
        4,
    ),
    near_part(
        "weight",
        "The normalised vector is multiplied by weight, entry by entry.",
        draw_learned,
        call,
        1.5,
    ),
    near_part(
        "eps",
        "Eps, as it is given, is added to the mean square, under the root.",
        draw_eps,
        call,
        1,
        _near,
    ),
    near_part(
        "hard vectors",
        "Zeros, single entries and very large numbers give a right result.",
        draw_hard,
        call,
        0.5,
    ),
    near_part(
        "half precision",
        "In float16 the squares, which may be beyond it, are computed in float32.",
        draw_half,
        call,
        0.5,
        _two_digits,
    ),
    any_layout(lambda rng: draw_new(rng)[4:6], 0.5, CONTRACT),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 0.5),
    *keeps(draw_ordinary, draw_hard_cases),
    not_allowed(NORMS, longer=CONTRACT.longer(lambda rng: draw_new(rng)[3:4], "rows")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, weight, eps):
    """The answer that the mistakes start from."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    normalised = wide / (mean_square + eps).sqrt()
    return normalised.to(x.dtype) * weight


@mistake(
    hint="You call one of torch's own norms. This task is to write it: a square, a mean, a root, "
    "and the weight."
)
def library_norm(x, weight, eps):
    """Torch's own function is called."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return F.rms_norm(wide, x.shape[-1:], weight.to(wide), eps).to(x)


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. A mean over the last "
    "axis (`dim=-1, keepdim=True`) is taken for all vectors at once."
)
def vector_by_vector(x, weight, eps):
    """A loop goes from vector to vector."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        wide = row.to(torch.promote_types(x.dtype, torch.float32))
        rows.append((wide / (wide.square().mean() + eps).sqrt()).to(x) * weight)
    return torch.stack(rows).reshape(x.shape) if rows else x.clone()


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The mean is subtracted first, as in LayerNorm.",
        replace={
            "wide = x.to(torch.promote_types(x.dtype, torch.float32))": """
                wide = x.to(torch.promote_types(x.dtype, torch.float32))
                wide = wide - wide.mean(dim=-1, keepdim=True)
            """
        },
        hint="You subtract the mean first. That is LayerNorm: RMSNorm leaves the mean alone, and "
        "this is all that it saves.",
        keeps=0.3,
    ),
    mistake(
        "The vector is divided by its standard deviation.",
        replace={
            "wide.square().mean(dim=-1, keepdim=True)": (
                "(wide - wide.mean(dim=-1, keepdim=True)).square().mean(dim=-1, keepdim=True)"
            )
        },
        hint="You divide by the standard deviation, the spread around the mean. The root mean "
        "square is that around 0: square the numbers themselves.",
    ),
    mistake(
        "The squares are summed up, not averaged.",
        replace={".mean(dim=-1, keepdim=True)": ".sum(dim=-1, keepdim=True)"},
        hint="You divide by the vector's length, the root of the *sum* of squares. With the mean "
        "in its place the entries stay near 1, however wide the vector is.",
        keeps=0.5,
    ),
    mistake(
        "The mean of absolute values takes the place of the root mean square.",
        replace={
            "wide.square().mean": "wide.abs().mean",
            "(mean_square + eps).sqrt()": "(mean_square + eps)",
        },
        hint="You divide by the mean of the absolute values. The R of RMS is the root of a mean of "
        "squares, in which large entries count more.",
    ),
    mistake(
        "The root is missing.",
        replace={"(mean_square + eps).sqrt()": "(mean_square + eps)"},
        hint="You divide by the mean square, without its root. Twice as large a vector would give "
        "half as large a result.",
        keeps=0.3,
    ),
    mistake(
        "Eps is added outside the root.",
        replace={"(mean_square + eps).sqrt()": "(mean_square.sqrt() + eps)"},
        hint="You add eps to the root. It is added to the mean square, under the root: for small "
        "vectors that makes a great difference.",
    ),
    mistake(
        "Eps is missing.",
        replace={"(mean_square + eps)": "mean_square"},
        hint="You leave out eps. A vector of zeros, such as padding may be, is then divided by 0.",
    ),
    mistake(
        "Eps is a constant of the answer's own.",
        replace={"(mean_square + eps)": "(mean_square + 1e-5)"},
        hint="You add 0.00001 whatever `eps` is. Published models differ in it (LLaMA 2 has a "
        "tenth of that): use the argument.",
    ),
    mistake(
        "Eps is the least mean square, instead of being added to it.",
        replace={"(mean_square + eps)": "mean_square.clamp(min=eps)"},
        hint="You let the mean square be eps at least. It is *added* to every mean square, be it "
        "large or small, so that the result changes smoothly.",
    ),
    mistake(
        "The weight is missing.",
        replace={"normalised.to(x.dtype) * weight": "normalised.to(x.dtype)"},
        hint="You do not multiply by the weight. Size 1 is where each vector starts from; how "
        "large each entry should be, the network learns.",
    ),
    mistake(
        "One is added to the weight.",
        replace={"* weight": "* (1 + weight)"},
        hint="You multiply by 1 + weight, as Gemma's code does, whose weights start at 0. Here "
        "they start at 1 and are multiplied as they are.",
        keeps=0.5,
    ),
    mistake(
        "The squares are averaged over the vectors, entry by entry.",
        replace={".mean(dim=-1, keepdim=True)": ".mean(dim=0, keepdim=True)"},
        hint="You average over the batch. Each vector is normalised by itself, over its last axis, "
        "whatever else is in the batch.",
    ),
    mistake(
        "The squares are averaged over everything at once.",
        replace={".mean(dim=-1, keepdim=True)": ".mean()"},
        hint="You take one mean over all vectors together, so one large vector makes all others "
        "small. Each has its own: `dim=-1, keepdim=True`.",
    ),
    mistake(
        "The squares are computed in float16.",
        replace={"x.to(torch.promote_types(x.dtype, torch.float32))": "x"},
        hint="In float16 the square of 300 is infinite, for the largest number is 65504. Go over "
        "to float32 first and come back in the end, as LLaMA does.",
    ),
    mistake(
        "The result of float16 stays float32.",
        replace={"normalised.to(x.dtype) * weight": "normalised * weight"},
        hint="Your result is float32 where x is float16. Compute the norm in float32, but return "
        "the dtype that you were given.",
    ),
    mistake(
        "Everything is computed in float32, whatever was given.",
        replace={"torch.promote_types(x.dtype, torch.float32)": "torch.float32"},
        hint="For float64 you lose half of the digits: you go over to float32 in every case. Only "
        "half precision has to be widened.",
    ),
    mistake(
        "The mean square is treated as a constant by the gradient.",
        replace={"(mean_square + eps)": "(mean_square.detach() + eps)"},
        hint="The values are right, but the mean square depends on x, too, and you cut it out of "
        "the graph. Part of the gradient is missing: do not detach.",
    ),
    mistake(
        "The result is written into x.",
        replace={
            "return normalised.to(x.dtype) * weight": """
                with torch.no_grad():
                    x.copy_(normalised)
                return normalised.to(x.dtype) * weight
            """
        },
        hint="The result is right, but you have changed the caller's x. The residual path still "
        "needs it: `x / root`, and not `x /= root`.",
    ),
    library_norm,
    vector_by_vector,
)

CHECK = Check(
    item="ps5_rms_norm",
    points=8,
    target="rms_norm",
    reference=rms_norm,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
