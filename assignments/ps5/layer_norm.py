"""The task "LayerNorm"."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.layers.blocks import LayerNorm

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
from .inputs import NORMS, shape_text

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*rows D; D; D; -", empty="rows")


def _case(
    rng: Generator,
    x: Tensor,
    eps: float,
    what: str = "",
    *,
    is_learned: bool = False,
) -> Case:
    """Make a case with the weight and bias of a new layer, or with learned ones."""
    dtype = str(x.dtype).removeprefix("torch.")
    width = x.shape[-1]
    weight, bias = torch.ones(width, dtype=x.dtype), torch.zeros(width, dtype=x.dtype)
    if is_learned:  # far from 1 and from 0, so that it shows if either is forgotten
        weight, bias = weight + 1 + normal(rng, dtype, width), bias - 3 + normal(rng, dtype, width)
    label = f"x of shape {shape_text(x.shape)}{what}, eps {eps:g}"
    return tensor_case(label, dtype, x, weight, bias, eps)


def _draw_shapes(rng: Generator, scale: float, *, is_learned: bool) -> list[Case]:
    """One vector, a batch, more axes; numbers against which eps is small."""
    return [
        _case(
            rng,
            scale * (_spread(rng, dtype, *shape) + shift),
            1e-5,
            f" near {scale:g}",
            is_learned=is_learned,
        )
        for shape, dtype, shift in [
            ((3,), "float64", 0.5),
            ((2, 5), "float64", -1.0),
            ((4, 3), "float32", 0.5),
            ((2, 3, 7), "float64", 2.0),
            ((5, 1, 2, 6), "float32", -0.5),
            ((2, 1, 2, 3, 2, 4), "float64", 1.0),
            ((2, 300), "float64", 1.0),
        ]
    ]


def _spread(rng: Generator, dtype: str, *shape: int) -> Tensor:
    """Draw vectors whose entries are never close to each other: steps of 1, shuffled, and noise."""
    order = np.argsort(rng.random(shape), axis=-1)
    return torch.from_numpy(order * 0.5).to(getattr(torch, dtype)) + normal(
        rng, dtype, *shape, scale=0.05
    )


def draw_new(rng: Generator) -> list[Case]:
    """Vectors in a layer that has not learned yet."""
    return _draw_shapes(rng, 20.0, is_learned=False)


def draw_learned(rng: Generator) -> list[Case]:
    """Vectors in a layer that has learned."""
    return _draw_shapes(rng, 20.0, is_learned=True)


def draw_eps(rng: Generator) -> list[Case]:
    """An eps that shows, or numbers so small that any does."""
    return [
        _case(rng, _spread(rng, "float64", 3, 4), 0.25),
        _case(rng, _spread(rng, "float32", 2, 3, 5), 0.5),
        _case(rng, _spread(rng, "float64", 2, 6), 1e-2),
        _case(rng, _spread(rng, "float64", 3, 5) * 1e-4, 1e-5, " near 1e-4"),
        _case(rng, _spread(rng, "float32", 4, 6) * 3e-3, 1e-5, " near 3e-3"),
        _case(rng, _spread(rng, "float64", 3, 5) * 1e-7, 1e-14, " near 1e-7"),
    ]


def draw_constants(rng: Generator) -> list[Case]:
    """Vectors without any variance: all entries alike, one entry; among others or alone."""
    mixed = 20 * _spread(rng, "float64", 4, 6)  # against these, eps is small
    mixed[1], mixed[2] = 3.0, 0.0
    return [
        _case(
            rng, torch.full((3, 4), -2.0, dtype=torch.float64), 1e-5, ", all -2", is_learned=True
        ),
        _case(rng, torch.zeros(2, 5, dtype=torch.float32), 1e-5, ", all 0", is_learned=True),
        _case(rng, mixed, 1e-5, ", two rows constant", is_learned=True),
        _case(rng, normal(rng, "float64", 3, 1), 1e-3, ", one entry each", is_learned=True),
    ]


def draw_extremes(rng: Generator) -> list[Case]:
    """Very large numbers, and numbers far from 0."""
    return [
        _case(rng, normal(rng, "float64", 2, 7, scale=1e12), 1e-5, " near 1e12"),
        _case(rng, normal(rng, "float32", 2, 7, scale=1e12), 1e-5, " near 1e12"),
        _case(rng, normal(rng, "float64", 3, 6) + 1e9, 1e-5, ", each row around 1e9"),
        _case(rng, torch.tensor(_around(rng)), 1e-5, ", each row around 100000"),
    ]


def _around(rng: Generator) -> list[list[float]]:
    # Whole numbers that float32 holds exactly, and so is their mean.
    steps = [[-8.0, -2.0, 1.0, 9.0], [5.0, -7.0, 6.0, -4.0], [-3.0, -1.0, -6.0, 10.0]]
    return [[100_000.0 + step for step in rng.permutation(row).tolist()] for row in steps]


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
    return [*draw_constants(rng), *draw_eps(rng), *draw_extremes(rng), *draw_empty(rng)]


# -- the reference version -------------------------------------------------------------------------


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Run the package's layer, written out, on the given weights."""
    layer = LayerNorm(len(weight), eps=eps, fused=False)
    parts = {"weight": weight, "bias": bias}
    out: Tensor = torch.func.functional_call(layer, parts, (x,))
    return out


# -- parts -----------------------------------------------------------------------------------------

# A mean of float32 near 1e5 is right up to 0.01, if the numbers are not drawn to be exact.
_far = judge_by(rtol=1e-3, atol=1e-3)

PARTS = (
    near_part(
        "values",
        "With weight 1 and bias 0, each vector has mean 0 and variance 1.",
        draw_new,
        call,
        5,
    ),
    near_part(
        "weight and bias",
        "The normalised vector is multiplied by weight, and then bias is added.",
        draw_learned,
        call,
        2.5,
    ),
    near_part(
        "eps",
        "Eps, as it is given, is added to the variance, under the root.",
        draw_eps,
        call,
        1,
    ),
    near_part(
        "constant vectors",
        "A vector without any variance becomes the bias.",
        draw_constants,
        call,
        1,
    ),
    near_part(
        "extremes",
        "Very large and far-away numbers give a right result.",
        draw_extremes,
        call,
        1,
        _far,
    ),
    any_layout(lambda rng: draw_new(rng)[4:6], 0.5, CONTRACT),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 1),
    near_part(
        "gradients of constants",
        "Gradients are finite and right for a vector without any variance, too.",
        draw_constants,
        differentiate,
        0.5,
        judge_by(rtol=1e-3, atol=1e-2),  # they are hundreds where eps alone divides
    ),
    *keeps(draw_ordinary, draw_hard_cases),
    not_allowed(NORMS, longer=CONTRACT.longer(lambda rng: draw_new(rng)[3:4], "rows")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, weight, bias, eps):
    """The answer that the mistakes start from."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    normalised = centred / (variance + eps).sqrt()
    return normalised * weight + bias


@mistake(
    hint="You call one of torch's own norms. This task is to write it: a mean, a variance, a "
    "square root, and what is learned."
)
def library_norm(x, weight, bias, eps):
    """Torch's own function is called."""
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. Means over the last axis "
    "(`dim=-1, keepdim=True`) are taken for all vectors at once."
)
def vector_by_vector(x, weight, bias, eps):
    """A loop goes from vector to vector."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        centred = row - row.mean()
        rows.append(centred / (centred.square().mean() + eps).sqrt() * weight + bias)
    return torch.stack(rows).reshape(x.shape) if rows else x.clone()


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The variance is divided by one less than the width.",
        replace={
            "centred.square().mean(dim=-1, keepdim=True)": (
                "centred.square().sum(dim=-1, keepdim=True) / (x.shape[-1] - 1)"
            )
        },
        hint="You divide by D - 1, as torch's `var` and `std` do by default to estimate from a "
        "sample. Here the variance is that of the vector itself: divide by D (`correction=0`).",
        keeps=0.5,
    ),
    mistake(
        "The variance is divided by one less than the width, but by at least one.",
        replace={
            "centred.square().mean(dim=-1, keepdim=True)": (
                "centred.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)"
            )
        },
        hint="You divide the sum of squares by D - 1. Nothing is estimated from a sample here: "
        "the variance is the mean of the squares, so divide by D.",
        keeps=0.5,
    ),
    mistake(
        "Eps is added to the standard deviation, outside the root.",
        replace={"(variance + eps).sqrt()": "(variance.sqrt() + eps)"},
        hint="You add eps to the standard deviation. It is added to the variance, under the root: "
        "where the variance is small, that makes a great difference.",
    ),
    mistake(
        "Eps is missing.",
        replace={"(variance + eps)": "variance"},
        hint="You leave out eps. A vector whose entries are all alike has the variance 0, and you "
        "divide 0 by 0.",
    ),
    mistake(
        "Eps is a constant of the answer's own.",
        replace={"(variance + eps)": "(variance + 1e-5)"},
        hint="You add 0.00001 whatever `eps` is. Published models differ in it, so the caller "
        "names it: use the argument.",
    ),
    mistake(
        "Eps is the least variance, instead of being added to it.",
        replace={"(variance + eps)": "variance.clamp(min=eps)"},
        hint="You let the variance be eps at least. It is *added* to every variance, be it large "
        "or small, so that the result changes smoothly.",
    ),
    mistake(
        "The mean is not subtracted.",
        replace={"centred / (variance": "x / (variance"},
        hint="You divide x by its standard deviation, but do not subtract its mean. The result is "
        "to have mean 0 before the bias comes.",
    ),
    mistake(
        "The vectors are divided by the variance, without a root.",
        replace={"(variance + eps).sqrt()": "(variance + eps)"},
        hint="You divide by the variance. Its root is in the unit of the numbers themselves: only "
        "dividing by the standard deviation gives variance 1.",
        keeps=0.3,
    ),
    mistake(
        "Mean and variance are taken over the vectors, entry by entry, as in batch norm.",
        replace={
            "x.mean(dim=-1, keepdim=True)": "x.mean(dim=0, keepdim=True)",
            "centred.square().mean(dim=-1, keepdim=True)": (
                "centred.square().mean(dim=0, keepdim=True)"
            ),
        },
        hint="You normalise each entry over the batch: that is batch norm. Here each vector is "
        "normalised by itself, over its last axis, whatever else is in the batch.",
    ),
    mistake(
        "Mean and variance are taken over all positions of a text together.",
        replace={
            "x.mean(dim=-1, keepdim=True)": "x.mean(dim=(-2, -1)[x.dim() < 2 :], keepdim=True)",
            "centred.square().mean(dim=-1, keepdim=True)": (
                "centred.square().mean(dim=(-2, -1)[x.dim() < 2 :], keepdim=True)"
            ),
        },
        hint="You take mean and variance over two axes. So a position would see the ones after it. "
        "Each vector is normalised by itself, over the last axis alone.",
    ),
    mistake(
        "The variance is the mean square minus the square of the mean.",
        replace={
            "centred.square().mean(dim=-1, keepdim=True)": (
                "x.square().mean(dim=-1, keepdim=True) - x.mean(dim=-1, keepdim=True).square()"
            )
        },
        hint="For numbers near 0 you are right. Far from 0 you subtract two huge, almost equal "
        "numbers, and rounding eats the difference: subtract the mean first, then square.",
    ),
    mistake(
        "The bias is added before the weight multiplies.",
        replace={"normalised * weight + bias": "(normalised + bias) * weight"},
        hint="You add the bias first and then multiply everything by the weight. The weight "
        "stretches the normalised vector; the bias is added in the end.",
    ),
    mistake(
        "The bias is missing.",
        replace={"normalised * weight + bias": "normalised * weight"},
        hint="You do not add the bias. Mean 0 is where each vector starts from; what its mean "
        "should be, the network learns.",
    ),
    mistake(
        "The weight is missing.",
        replace={"normalised * weight + bias": "normalised + bias"},
        hint="You do not multiply by the weight. Variance 1 is where each vector starts from; how "
        "large each entry should be, the network learns.",
    ),
    mistake(
        "Weight and bias are swapped.",
        replace={"normalised * weight + bias": "normalised * bias + weight"},
        hint="You multiply by the bias and add the weight. Look at the order of the arguments: x, "
        "weight, bias, eps.",
        keeps=0.5,
    ),
    mistake(
        "The standard deviation is squared again, so that its gradient breaks at 0.",
        replace={
            "centred.square().mean(dim=-1, keepdim=True)": (
                "centred.square().mean(dim=-1, keepdim=True).sqrt().square()"
            )
        },
        hint="The values are right. But the gradient of a root is infinite at 0, and you take one "
        "before eps is added: for a constant vector it becomes nan. Use the variance itself.",
    ),
    mistake(
        "Mean and variance are treated as constants by the gradient.",
        replace={
            "x - x.mean(dim=-1, keepdim=True)": "x - x.mean(dim=-1, keepdim=True).detach()",
            "(variance + eps)": "(variance.detach() + eps)",
        },
        hint="The values are right, but mean and variance depend on x, too, and you cut them out "
        "of the graph. Part of the gradient is missing: do not detach.",
    ),
    mistake(
        "The mean is subtracted from the caller's own tensor.",
        replace={
            "centred = x - x.mean(dim=-1, keepdim=True)": """
                centred = x - x.mean(dim=-1, keepdim=True)
                with torch.no_grad():
                    x.copy_(centred)
            """
        },
        hint="The result is right, but you have subtracted the mean from the caller's own tensor. "
        "The residual path still needs it: `x - mean`, and not `x -= mean`.",
    ),
    mistake(
        "Everything is computed in float32, whatever was given.",
        replace={
            "x - x.mean(dim=-1, keepdim=True)": "x.float() - x.float().mean(dim=-1, keepdim=True)",
            "normalised * weight + bias": "(normalised * weight + bias).to(x.dtype)",
        },
        hint="For float64 you lose half of the digits: somewhere you go over to float32. Compute "
        "in the dtype of x.",
    ),
    library_norm,
    vector_by_vector,
)

CHECK = Check(
    item="ps5_layer_norm",
    points=12,
    target="layer_norm",
    reference=layer_norm,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
