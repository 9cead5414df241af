"""The task "merge the thin layers"."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.compare import saying
from course_pkg.models.adaptation import LoRALinear

from ..contracts import Contract
from ..tensors import (
    Generator,
    any_layout,
    call,
    keeps,
    near_part,
    normal,
    tensor_case,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("O D; -")
Adapter = tuple[Tensor, Tensor, float]


def _case(
    rng: Generator,
    sizes: tuple[int, int],
    adapters: list[tuple[int, float]],
    dtype: str = "float64",
    *,
    scale: float = 1.0,
    what: str = "",
) -> Case:
    """Draw a weight of O by I numbers, and adapters of these ranks and alphas."""
    n_out, n_in = sizes
    fine = "float64" if dtype == "float64" else "float32"
    drawn = [
        (normal(rng, fine, r, n_in, scale=scale), normal(rng, fine, n_out, r), alpha)
        for r, alpha in adapters
    ]
    ranks = ", ".join(f"rank {r} and alpha {alpha:g}" for r, alpha in adapters) or "no adapter"
    return tensor_case(
        f"{n_out} by {n_in}, {ranks}{what}", dtype, normal(rng, dtype, *sizes), drawn
    )


def _exact(rng: Generator, dtype: str, steps: list[float], signs: bool, what: str) -> Case:
    """Make a weight of powers of 2, to which each adapter adds a share of the next number's step.

    All products and sums are exact in float32, so that only rounding to `dtype` matters.
    """
    exponents = torch.from_numpy(rng.integers(-2, 3, (3, 2)))
    weight = torch.exp2(exponents.float())
    step = weight * torch.finfo(getattr(torch, dtype)).eps
    adapters = []
    for share in steps:
        sign = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]) if signs else torch.ones(3, 2)
        # Of rank 2, column by column: A picks a column, and B holds what is added there.
        adapters.append((torch.eye(2), sign * step * share, 2.0))
    return tensor_case(f"{what}", dtype, weight.to(getattr(torch, dtype)), adapters)


def _third(rng: Generator, dtype: str, change: float) -> Case:
    """Make a weight of small whole numbers, to which an adapter of rank 3 and alpha 1 adds.

    What it adds is a third of `change`, which is another number if the third is rounded first.
    """
    weight = torch.from_numpy(rng.integers(1, 3, (3, 3))).to(getattr(torch, dtype))
    up = (change - 3 * weight.float() + 3) * torch.ones(3, 3)
    return tensor_case(f"a scale of a third, {dtype}", dtype, weight, [(torch.eye(3), up, 1.0)])


def draw_values(rng: Generator) -> list[Case]:
    """One adapter, of ranks above and below the sizes."""
    return [
        _case(rng, (2, 3), [(1, 1.0)]),
        _case(rng, (3, 2), [(2, 6.0)]),
        _case(rng, (4, 5), [(3, 0.5)], "float32"),
        _case(rng, (3, 3), [(3, -2.0)]),
        _case(rng, (2, 3), [(5, 16.0)], "float32"),
        _case(rng, (1, 4), [(2, 0.0)]),
    ]


def draw_several(rng: Generator) -> list[Case]:
    """Several adapters of unequal ranks and alphas."""
    return [
        _case(rng, (2, 3), [(1, 4.0), (2, 1.0)]),
        _case(rng, (4, 3), [(3, 2.0), (1, -0.5), (2, 8.0)], "float32"),
        _case(rng, (3, 3), [(2, 5.0), (2, 3.0)]),
        _case(rng, (2, 2), [(1, 1.0)] * 12),
    ]


def draw_half(rng: Generator) -> list[Case]:
    """Half precision: sums that would be lost step by step, and sums that must be rounded."""
    many = {"bfloat16": [0.25] * 4, "float16": [0.25] * 4}
    # By the change alone: small ones after one so large that they are lost beside it.
    far = {"bfloat16": [256, *[0.5] * 4], "float16": [2048, *[0.5] * 4]}
    # Rounded alone, the change is just half a step, a tie; it is a little more.
    half = {"bfloat16": [0.5 * (1 + 2**-10)], "float16": [0.5 * (1 + 2**-12)]}
    # 34.33 and 34.40, 1000.8 and 1000.56: on either side of what divides two neighbours.
    thirds = {"bfloat16": 100.0, "float16": 2999.4}
    return [
        *(
            _exact(rng, dtype, steps, False, f"{len(steps)} small changes of each number")
            for dtype, steps in many.items()
        ),
        *(
            _exact(rng, dtype, [0.375, 0.375], False, "two small changes of each number")
            for dtype in ("bfloat16", "float16")
        ),
        *(
            _exact(rng, dtype, [3.25, 1.5], True, "two changes up or down")
            for dtype in ("bfloat16", "float16")
        ),
        *(
            _exact(rng, dtype, steps, False, "a large change and small ones")
            for dtype, steps in far.items()
        ),
        *(
            _exact(rng, dtype, steps, False, "one change of little more than half a step")
            for dtype, steps in half.items()
        ),
        *(_third(rng, dtype, change) for dtype, change in thirds.items()),
    ]


def draw_half_values(rng: Generator) -> list[Case]:
    """Ordinary numbers in half precision, small matrices of rank 1 and 2."""
    return [
        _case(rng, (2, 3), [(1, 1.0)], "bfloat16"),
        _case(rng, (3, 2), [(2, 4.0), (1, 1.0)], "float16"),
    ]


def draw_none(rng: Generator) -> list[Case]:
    """No adapter."""
    return [_case(rng, (2, 3), [], dtype) for dtype in ("float32", "float64", "bfloat16")]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_values(rng)[1:4], *draw_several(rng)[:2]]


def draw_precise(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy: small changes count as well."""
    small = _case(rng, (3, 2), [(1, 1.0), (2, -3.0)], scale=1e-7, what=", small changes")
    return [*draw_all(rng), small]


def draw_hard(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_half(rng)[1:5], *draw_half_values(rng), *draw_none(rng)]


# -- probes ----------------------------------------------------------------------------------------


def call_for_bits(implementation, inputs):
    """Return the bits of the result in the weight's dtype, so that no last digit is forgiven."""
    import torch

    weight, adapters = inputs["arguments"]
    return implementation(weight, adapters).to(weight.dtype).view(torch.int16)


def call_with_leaves(implementation, inputs):
    """Return whether the result carries a graph where the arguments ask for gradients.

    They ask for them afterwards, too.
    """
    weight, adapters = inputs["arguments"]
    leaves = [
        (down.clone().requires_grad_(), up.clone().requires_grad_(), alpha)
        for down, up, alpha in adapters
    ]
    carries, shapes, asks = [], [], []
    for one in (weight.clone(), weight.clone().requires_grad_()):
        result = implementation(one, leaves)
        asked = all(down.requires_grad and up.requires_grad for down, up, _ in leaves)
        carries.append(result.requires_grad)
        shapes.append(tuple(result.shape))
        asks.append(asked and one.grad is None)
    return carries, shapes, asks


def call_and_write(implementation, inputs):
    """Return whether the caller may write into the result without changing an argument."""
    weight, adapters = inputs["arguments"]
    before = weight.clone(), [(down.clone(), up.clone()) for down, up, _ in adapters]
    result = implementation(weight, adapters)
    shape = tuple(result.shape)
    result.fill_(7.0)
    same = [
        bool((down == kept[0]).all() and (up == kept[1]).all())
        for (down, up, _), kept in zip(adapters, before[1], strict=True)
    ]
    return shape, bool((weight == before[0]).all()), same


# -- the reference version -------------------------------------------------------------------------


def merge_lora(weight: Tensor, adapters: Sequence[Adapter]) -> Tensor:
    """Merge one after the other by the package's own method, in full precision."""
    n_out, n_in = weight.shape
    fine = torch.promote_types(weight.dtype, torch.float32)
    linear = nn.utils.skip_init(nn.Linear, n_in, n_out, bias=False, dtype=fine)
    linear.weight.data.copy_(weight.detach())
    for down, up, alpha in adapters:
        merge(linear, down, up, alpha / len(down))
    return linear.weight.detach().to(weight.dtype)


def merge(linear: nn.Linear, down: Tensor, up: Tensor, scale: float) -> None:
    """Merge by the package's layer, without the weights that it would draw for itself."""
    layer = LoRALinear.__new__(LoRALinear)
    nn.Module.__init__(layer)
    layer.linear, layer.down, layer.up = linear, nn.Parameter(down), nn.Parameter(up)
    layer.scale = scale
    layer.merged()


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "The result is W plus alpha / R times the product of B and A.",
        draw_values,
        call,
        5,
    ),
    near_part("several", "Each adapter is added, with its own scale.", draw_several, call, 2),
    Part(
        "half precision",
        "What is added is computed in full, and rounded once, at the end.",
        draw_half,
        call_for_bits,
        weight=2,
    ),
    near_part("no adapters", "Without adapters the matrix stays as it is.", draw_none, call, 0.5),
    Part(
        "a new matrix",
        "The caller may write into the result.",
        lambda rng: [*draw_all(rng), *draw_none(rng)],
        call_and_write,
        judge=saying(
            "the shape of the result is another",
            "what is written into the result stands in the weight, too",
            "what is written into the result stands in an adapter, too",
        ),
        weight=1,
        earns_alone=False,
    ),
    Part(
        "no graph",
        "The result carries no graph, whatever the arguments ask for.",
        lambda rng: [*draw_all(rng), *draw_none(rng)[:1], *draw_half(rng)[:1]],
        call_with_leaves,
        judge=saying(
            "the result carries a graph",
            "the shape of the result is another",
            "an argument no longer asks for gradients, or has got one",
        ),
        weight=1,
        earns_alone=False,
    ),
    any_layout(draw_all, 0.5, CONTRACT),
    *keeps(
        draw_precise,
        draw_hard,
        requirement="The result has the weight's dtype and accuracy, whatever torch's default is.",
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(weight, adapters):
    """The answer that the mistakes start from."""
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    total = weight.detach().to(fine).clone()
    for down, up, alpha in adapters:
        scale = alpha / down.shape[0]
        total = total + scale * (up.detach() @ down.detach())
    return total.to(weight.dtype)


@mistake(
    hint="You write the sum into a matrix that may be the caller's own: `to` makes a copy only "
    "where the dtype changes. Make a copy before you write."
)
def adds_in_place(weight, adapters):
    """The caller's matrix is changed where it needs no conversion."""
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    total = weight.detach().to(fine)
    for down, up, alpha in adapters:
        total += alpha / len(down) * up.detach() @ down.detach()
    return total.to(weight.dtype)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The sum is rounded after each adapter.",
        replace={
            "total = total + scale * (up.detach() @ down.detach())": (
                "total = (total + scale * (up.detach() @ down.detach())).to(weight.dtype).to(fine)"
            )
        },
        hint="You round to the weight's dtype after each adapter. Small changes are then lost one "
        "by one, although together they count: round once, at the end.",
    ),
    mistake(
        "Everything is computed in the weight's dtype.",
        replace={
            "scale * (up.detach() @ down.detach())": (
                "scale * (up.detach() @ down.detach()).to(weight.dtype)"
            ),
            "weight.detach().to(fine).clone()": "weight.detach().clone()",
        },
        hint="You compute in the weight's dtype. In half precision each sum is rounded then: go "
        "over to the adapters' dtype first, and back at the end.",
    ),
    mistake(
        "The scale is alpha.",
        replace={"alpha / down.shape[0]": "alpha"},
        hint="You multiply the product by alpha. The scale is alpha divided by the rank, as in the "
        "layer that you merge.",
        keeps=0.5,
    ),
    mistake(
        "The scale is left out.",
        replace={"scale * (up.detach() @ down.detach())": "(up.detach() @ down.detach())"},
        hint="You leave out the scale. The product is multiplied by alpha, divided by the rank.",
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
        "All adapters have the scale of the first.",
        replace={"alpha / down.shape[0]": "adapters[0][2] / adapters[0][0].shape[0]"},
        hint="You use the first adapter's scale for all of them. Each has its own alpha and its "
        "own rank.",
    ),
    mistake(
        "Only the last adapter is added.",
        replace={"total = total + scale": "total = weight.detach().to(fine) + scale"},
        hint="You begin anew from the weight for each adapter, so only the last one is left. The "
        "changes of all of them are added up.",
    ),
    mistake(
        "Only the first adapter is added.",
        replace={"in adapters:": "in adapters[:1]:"},
        hint="You merge the first adapter alone. There may be several: the changes of all of them "
        "are added up.",
    ),
    mistake(
        "The change alone is returned.",
        replace={"weight.detach().to(fine).clone()": "torch.zeros_like(weight, dtype=fine)"},
        hint="You return the change without the weight. The merged matrix is the weight plus all "
        "changes.",
        keeps=0.3,
    ),
    mistake(
        "The change is taken away.",
        replace={"total + scale": "total - scale"},
        hint="You subtract the change. Merging adds it: subtracting takes an adapter out again "
        "that has been merged before.",
        keeps=0.5,
    ),
    mistake(
        "The result carries a graph.",
        replace={"(up.detach() @ down.detach())": "(up @ down)"},
        hint="Your result is right, but it carries a graph to the adapters. A merged matrix is for "
        "use: detach them, or compute without gradients.",
    ),
    mistake(
        "The weight's graph stays.",
        replace={"weight.detach().to(fine)": "weight.to(fine)"},
        hint="Your result is right, but it carries a graph to the weight when that asks for "
        "gradients. A merged matrix is for use: detach it.",
    ),
    mistake(
        "The result stays in the finer dtype.",
        replace={"total.to(weight.dtype)": "total"},
        hint="Your result has the dtype in which you compute. It is to have that of the weight: "
        "the model expects it there.",
    ),
    mistake(
        "The result is always float32.",
        replace={"total.to(weight.dtype)": "total.to(torch.float32)"},
        hint="Your result is float32, whatever the weight is. It is to have the dtype of the "
        "weight.",
    ),
    mistake(
        "Everything is computed in float32.",
        replace={
            "torch.float64 if weight.dtype == torch.float64 else torch.float32": "torch.float32"
        },
        hint="You compute in float32 also where the weight is float64, and so lose half of its "
        "digits. Use the adapters' dtype, or a finer one.",
    ),
    mistake(
        "The weight itself is returned where there are no adapters.",
        replace={
            "total = weight.detach().to(fine).clone()": (
                "total = weight.detach().to(fine).clone() if adapters else weight"
            )
        },
        hint="Without adapters you return the caller's own matrix. The result is a new one, so "
        "that the caller may write into it.",
    ),
    adds_in_place,
)

CHECK = Check(
    item="ps8_merge_lora",
    points=10,
    target="merge_lora",
    reference=merge_lora,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "fine = torch.promote_types(weight.dtype, torch.float32)  →  "
        "fine = torch.promote_types(torch.float32, weight.dtype)": (
            "Which of two dtypes is the finer one does not depend on their order."
        )
    },
)
