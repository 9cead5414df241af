"""The task "a thin layer beside a frozen one"."""

from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.models.adaptation import LoRALinear

from ..contracts import Contract
from ..tensors import (
    Generator,
    any_layout,
    call,
    keeps,
    near,
    near_part,
    normal,
    sizes_part,
    tensor_case,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*rows D; O D; O; R D; O R; -", empty="rows")


def _case(
    rng: Generator,
    axes: tuple[int, ...],
    sizes: tuple[int, int, int],
    alpha: float,
    dtype: str = "float64",
    *,
    bias: bool = True,
    zero_up: bool = False,
    what: str = "",
) -> Case:
    """Draw a layer; `axes` are those of x before the last, `sizes` are I, O and R."""
    n_in, n_out, rank = sizes
    up = normal(rng, dtype, n_out, rank) * (0 if zero_up else 1)
    label = (
        f"x of shape {(*axes, n_in)}, from {n_in} to {n_out}, rank {rank}, alpha {alpha:g}{what}"
    )
    return tensor_case(
        label,
        dtype,
        normal(rng, dtype, *axes, n_in),
        normal(rng, dtype, n_out, n_in),
        normal(rng, dtype, n_out) if bias else None,
        normal(rng, dtype, rank, n_in),
        up,
        alpha,
    )


def draw_values(rng: Generator) -> list[Case]:
    """Ranks above and below the sizes; alphas equal to the rank, above (no multiple), below."""
    return [
        _case(rng, (2,), (3, 2, 1), 1.0),
        _case(rng, (3,), (2, 4, 2), 7.0),
        _case(rng, (4,), (5, 3, 3), 0.5, "float32"),
        _case(rng, (2,), (4, 4, 4), 16.0),
        _case(rng, (3,), (2, 3, 6), 2.0, "float32", what=", a rank above both sizes"),
        _case(rng, (2, 3), (3, 1, 2), -3.0),
    ]


def draw_start(rng: Generator) -> list[Case]:
    """Where B is 0, or alpha is, nothing has changed."""
    return [
        _case(rng, (2,), (3, 4, 2), 16.0, zero_up=True, what=", B is 0"),
        _case(rng, (2,), (3, 2, 2), 0.0, "float32"),
    ]


def draw_without_bias(rng: Generator) -> list[Case]:
    """The layer has no bias."""
    return [
        _case(rng, (2,), (3, 2, 1), 4.0, bias=False, what=", no bias"),
        _case(rng, (2, 2), (2, 5, 3), 1.5, "float32", bias=False, what=", no bias"),
    ]


def draw_axes(rng: Generator) -> list[Case]:
    """One vector; many axes."""
    return [
        _case(rng, (), (3, 2, 2), 4.0),
        _case(rng, (2, 3, 2), (3, 4, 2), 4.0),
        _case(rng, (1, 2, 1, 2), (2, 3, 1), 4.0),
        _case(rng, (), (1, 1, 1), 2.0),
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Layers with and without a bias."""
    return [
        *draw_values(rng)[1:],
        draw_without_bias(rng)[0],
        draw_axes(rng)[1],
        *draw_start(rng),
    ]


def draw_large(rng: Generator) -> list[Case]:
    """A matrix that is much larger than all else."""
    return [
        _case(rng, (2,), (30, 40, 2), 4.0),
        _case(rng, (1, 3), (64, 24, 1), 4.0, "float32", bias=False, what=", no bias"),
        _case(rng, (), (40, 40, 3), 4.0),
    ]


# -- probes ----------------------------------------------------------------------------------------


def differentiate_thin(implementation, inputs):
    """Return the gradients of x, A and B, where weight and bias ask for none."""
    import torch

    x, weight, bias, down, up, alpha = inputs["arguments"]
    leaves = [part.clone().requires_grad_() for part in (x, down, up)]
    result = implementation(leaves[0], weight, bias, leaves[1], leaves[2], alpha)
    if not result.requires_grad:
        return "no gradient"
    factors = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).view_as(result)
    gradients = torch.autograd.grad((result * factors).sum(), leaves, allow_unused=True)
    return "no gradient" if any(part is None for part in gradients) else list(gradients)


def differentiate_frozen(implementation, inputs):
    """Return whether no gradient reaches weight and bias, and they ask for one as before."""
    arguments = [
        p.clone().requires_grad_() if hasattr(p, "dim") else p for p in inputs["arguments"]
    ]
    result = implementation(*arguments)
    if not result.requires_grad:
        return "no gradient"
    result.sum().backward()
    frozen = [part for part in arguments[1:3] if part is not None]
    return (
        frozen[0].grad is None,
        frozen[-1].grad is None,
        all(part.requires_grad for part in frozen),
    )


# -- the reference version -------------------------------------------------------------------------


def lora_layer(
    x: Tensor, weight: Tensor, bias: Tensor | None, down: Tensor, up: Tensor, alpha: float
) -> Tensor:
    """Call the package's forward pass, on a layer that has drawn no weights of its own."""
    layer = LoRALinear.__new__(LoRALinear)
    nn.Module.__init__(layer)
    constant = None if bias is None else bias.detach()
    vars(layer).update(
        linear=partial(F.linear, weight=weight.detach(), bias=constant),
        down=down,
        up=up,
        scale=alpha / len(down),
    )
    out: Tensor = layer(x)
    return out


# -- parts -----------------------------------------------------------------------------------------


PARTS = (
    near_part("values", "The result is W x + b + alpha / R times B (A x).", draw_values, call, 5),
    near_part("no change", "Where B or alpha is 0, the layer is as it was.", draw_start, call, 1),
    near_part("no bias", "The bias may be None.", draw_without_bias, call, 1),
    near_part(
        "axes",
        "There may be any number of axes before the last, and no vector at all.",
        draw_axes,
        call,
        1.5,
    ),
    near_part(
        "gradients",
        "Gradients flow to x, to A and to B, and are right.",
        draw_for_gradients,
        differentiate_thin,
        1.5,
    ),
    Part(
        "frozen",
        "No gradient reaches weight and bias, also if they ask for one.",
        draw_for_gradients,
        differentiate_frozen,
        judge=saying(
            "the weight gets a gradient",
            "the bias gets a gradient",
            "weight or bias no longer asks for gradients",
            judge=near,
        ),
        weight=1.5,
        earns_alone=False,
    ),
    sizes_part(
        "No new matrix of the size of the weight is made.",
        draw_large,
        lambda arguments: arguments[1].numel(),
        "a new matrix of the size of the weight is made",
    ),
    any_layout(draw_values, 0.5, CONTRACT),
    *keeps(draw_values, lambda rng: [*draw_start(rng), *draw_without_bias(rng), *draw_axes(rng)]),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[2:3], "rows", "R")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, weight, bias, down, up, alpha):
    """The answer that the mistakes start from."""
    weight = weight.detach()
    bias = None if bias is None else bias.detach()
    rank = down.shape[0]
    thin = F.linear(F.linear(x, down), up)
    return F.linear(x, weight, bias) + alpha / rank * thin


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. Two products of "
    "matrices, one after the other, do all of it at once."
)
def direction_by_direction(x, weight, bias, down, up, alpha):
    """The thin path is computed for one direction at a time."""
    y = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    for number in range(down.shape[0]):
        amount = (x * down[number]).sum(dim=-1, keepdim=True)
        y = y + alpha / down.shape[0] * amount * up[:, number]
    return y


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The scale is alpha.",
        replace={"alpha / rank * thin": "alpha * thin"},
        hint="You multiply the thin path by alpha. The scale is alpha divided by the rank, so that "
        "another rank needs no other alpha.",
        keeps=0.5,
    ),
    mistake(
        "The scale is left out.",
        replace={"alpha / rank * thin": "(1 + 0 * alpha) * thin"},
        hint="You leave out the scale. The thin path is multiplied by alpha, divided by the rank.",
        keeps=0.5,
    ),
    mistake(
        "The scale is alpha over the root of the rank.",
        replace={"alpha / rank * thin": "alpha / rank**0.5 * thin"},
        hint="You divide alpha by the root of the rank. The contract divides by the rank itself.",
        keeps=0.5,
    ),
    mistake(
        "The rank is taken from the wrong axis.",
        replace={"down.shape[0]": "down.shape[1]"},
        hint="You divide by the number of inputs. The rank is the number of rows of A, which are "
        "as many as the columns of B.",
        keeps=0.5,
    ),
    mistake(
        "The frozen path is scaled, too.",
        replace={
            "F.linear(x, weight, bias) + alpha / rank * thin": (
                "alpha / rank * (F.linear(x, weight, bias) + thin)"
            )
        },
        hint="You scale the sum of both paths. Only the thin one is multiplied by alpha / R: the "
        "frozen layer must stay what it was.",
        keeps=0.3,
    ),
    mistake(
        "The bias is left out.",
        replace={"F.linear(x, weight, bias) +": "F.linear(x, weight) +"},
        hint="Your result lacks the bias. It belongs to the frozen layer, which works on as it "
        "did before.",
    ),
    mistake(
        "The bias is scaled and added to the thin path.",
        replace={
            "F.linear(F.linear(x, down), up)": "F.linear(F.linear(x, down), up, bias)",
            "F.linear(x, weight, bias)": "F.linear(x, weight)",
        },
        hint="You add the bias to the thin path, where it is scaled. It belongs to the frozen one: "
        "the thin path has none.",
    ),
    mistake(
        "The thin path replaces the frozen one.",
        replace={"F.linear(x, weight, bias) + alpha": "0 * F.linear(x, weight, bias) + alpha"},
        hint="You return the thin path alone. It stands beside the frozen layer, and its result is "
        "added to that of the layer.",
    ),
    mistake(
        "A new matrix as large as the frozen one is made.",
        replace={"F.linear(F.linear(x, down), up)": "F.linear(x, up @ down)"},
        hint="Your result is right, but you make a matrix as large as the frozen one: the product "
        "of B and A, or a copy. Go through A first, and then through B.",
    ),
    mistake(
        "A nonlinearity stands between A and B.",
        replace={"F.linear(F.linear(x, down), up)": "F.linear(F.linear(x, down).relu(), up)"},
        hint="You put a nonlinearity between A and B. There is none: else the thin path could not "
        "be merged into the matrix afterwards.",
    ),
    mistake(
        "Weight and bias get gradients.",
        replace={
            "weight = weight.detach()": "weight = weight",
            "bias is None else bias.detach()": "bias is None else bias",
        },
        hint="Your result is right, but weight and bias get gradients when they ask for them. They "
        "are frozen here: detach them.",
    ),
    mistake(
        "The bias gets a gradient.",
        replace={"bias is None else bias.detach()": "bias is None else bias"},
        hint="You detach the weight, but not the bias. It belongs to the frozen layer, too.",
    ),
    mistake(
        "No gradient reaches the thin matrices.",
        replace={
            "F.linear(F.linear(x, down), up)": "F.linear(F.linear(x, down.detach()), up.detach())"
        },
        hint="Your result is right, but A and B get no gradient. They are just what is to be "
        "trained: only weight and bias are frozen.",
    ),
    mistake(
        "No gradient reaches x through the frozen path.",
        replace={"F.linear(x, weight, bias) +": "F.linear(x.detach(), weight, bias) +"},
        hint="You cut off the frozen path from x. The weight is constant, but what stands below "
        "this layer still has to learn through it.",
    ),
    mistake(
        "The bias may not be None.",
        replace={"None if bias is None else bias.detach()": "bias.detach()"},
        hint="Your answer breaks where the bias is None. Then the layer has none, and nothing is "
        "added.",
    ),
    mistake(
        "The result is always float32.",
        replace={
            "F.linear(x, weight, bias) + alpha / rank * thin": (
                "(F.linear(x, weight, bias) + alpha / rank * thin).float()"
            )
        },
        hint="Your result is float32 also where x is float64. No conversion is needed: the result "
        "has the dtype of the arguments.",
    ),
    direction_by_direction,
)

CHECK = Check(
    item="ps8_lora_layer",
    points=12,
    target="lora_layer",
    reference=lora_layer,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
