"""The task "clip the gradient"."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.authoring.checks import (
    Case,
    Check,
    Inputs,
    Part,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import agree, saying
from course_pkg.training import optim

from ..tensors import Generator, exactly, near, near_part, normal

# -- inputs ----------------------------------------------------------------------------------------

_SHAPES = [
    ([(2,)], "float64"),
    ([(2, 3), (4,)], "float64"),
    ([(3,), (2, 5), (1, 2, 4)], "float32"),
    ([(4, 3), (), (5,), (2, 2)], "float64"),
]


def _draw_gradients(rng: Generator, shares: Sequence[float]) -> list[Case]:
    """Draw gradients of which `max_norm` is the given share of the joint norm."""
    cases = []
    for (shapes, dtype), share, scale in zip(_SHAPES, shares, (0.3, 4.0, 0.3, 4.0), strict=True):
        # Some tensors are much longer than others, so that clipping each alone shows.
        gradients = [
            normal(rng, dtype, *shape, scale=scale * (1 + 2 * place))
            for place, shape in enumerate(shapes)
        ]
        norm = sum(float(gradient.double().square().sum()) for gradient in gradients) ** 0.5
        size = f"{counted(len(shapes), 'tensor')}, {dtype}, max_norm at {share:g} of the norm"
        inputs = {"dtype": dtype, "gradients": gradients, "max_norm": share * norm}
        cases.append(Case(size, inputs))
    return cases


def draw_long_gradients(rng: Generator) -> list[Case]:
    """Gradients that must be shortened."""
    return _draw_gradients(rng, [0.5, 0.25, 0.1, 0.999])


def draw_short_gradients(rng: Generator) -> list[Case]:
    """Gradients that are short enough; alone and joint, by a little or by much."""
    return _draw_gradients(rng, [2.0, 1.001, 7.0, 1.3])


def draw_any_gradients(rng: Generator) -> list[Case]:
    """Long ones and short ones."""
    return _draw_gradients(rng, [0.5, 3.0, 0.3, 0.7])


def draw_missing_gradients(rng: Generator) -> list[Case]:
    """Gradients among which some are missing, zero or empty; or none at all."""
    first, second, third, fourth = draw_any_gradients(rng)
    first.inputs["gradients"].insert(0, None)
    second.inputs["gradients"].append(None)
    third.inputs["gradients"][1].zero_()
    for gradient in fourth.inputs["gradients"]:
        gradient.zero_()
    none = Case("only missing gradients", {**first.inputs, "gradients": [None, None]})
    empty = torch.zeros(2, 0, dtype=torch.float64)
    beside = {**first.inputs, "gradients": [empty, *draw_any_gradients(rng)[0].inputs["gradients"]]}
    names = ("a missing one first", "a missing one last", "one of zeros", "all zeros")
    cases = zip((first, second, third, fourth), names, strict=True)
    return [
        *(Case(f"{case.label}, {name}", case.inputs) for case, name in cases),
        none,
        Case("one tensor, and one without a number", beside),
    ]


def draw_extreme_gradients(rng: Generator) -> list[Case]:
    """Tiny and huge gradients, also side by side, many, and a norm that is max_norm exactly."""
    cases = []
    for label, numbers, share in [
        ("tensors near 1e-6", [normal(rng, "float64", 3, scale=1e-6) for _ in range(2)], 0.5),
        ("tensors near 1e12", [normal(rng, "float32", 2, 3, scale=1e12) for _ in range(2)], 0.5),
        (
            "a tensor near 1e-6 beside one near 1e3",
            [normal(rng, "float64", 3, scale=scale) for scale in (1e3, 1e-6)],
            0.5,
        ),
        ("300 tensors", [normal(rng, "float64", 2) for _ in range(300)], 0.25),
        ("a norm of 1.5e-6", [torch.tensor([9e-7, 1.2e-6], dtype=torch.float64)], 2 / 3),
        ("a norm of exactly max_norm", [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])], 1.0),
    ]:
        norm = sum(float(gradient.double().square().sum()) for gradient in numbers) ** 0.5
        dtype = str(numbers[0].dtype).removeprefix("torch.")
        inputs = {"dtype": dtype, "gradients": numbers, "max_norm": share * norm}
        cases.append(Case(label, inputs))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def measure_norm(implementation, inputs):
    """Return what is returned, as a float."""
    return float(implementation(inputs["gradients"], inputs["max_norm"]))


def clip(implementation, inputs):
    """Return what became of the tensors that were handed in."""
    handed_in = list(inputs["gradients"])
    implementation(inputs["gradients"], inputs["max_norm"])
    return handed_in


def clip_and_measure(implementation, inputs):
    """Return the norm, what became of the tensors, and where the list has none."""
    gradients = inputs["gradients"]
    handed_in = list(gradients)
    norm = float(implementation(gradients, inputs["max_norm"]))
    return norm, handed_in, [gradient is None for gradient in gradients]


def clip_views(implementation, inputs):
    """Return what became of tensors with gaps in memory, and of what stands in the gaps."""
    import torch

    wholes = [torch.stack([g, torch.full_like(g, 7.0)], dim=-1) for g in inputs["gradients"]]
    implementation([pair[..., 0].mT if pair.dim() > 2 else pair[..., 0] for pair in wholes], 1e-3)
    return wholes


def clip_elsewhere(implementation, inputs):
    """Return norm, tensors and the norm's type, where torch's default dtype is another one."""
    import torch

    handed_in = list(inputs["gradients"])
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if inputs["dtype"] == "float64" else torch.float64)
    try:
        norm = implementation(inputs["gradients"], inputs["max_norm"])
    finally:
        torch.set_default_dtype(before)
    return float(norm), handed_in, isinstance(norm, float)


def clip_and_keep(implementation, inputs):
    """Return the tensors, and whether the list holds them still."""
    gradients = inputs["gradients"]
    handed_in = list(gradients)
    try:
        implementation(gradients, inputs["max_norm"])
    except Exception:
        handed_in = []  # whether there is a result is the business of other parts
    same = len(gradients) == len(inputs["gradients"]) and not any(
        now is not then for now, then in zip(gradients, handed_in, strict=False)
    )
    return handed_in, same


# -- the reference version -------------------------------------------------------------------------


def clip_global_norm(gradients: Sequence[Tensor | None], max_norm: float) -> float:
    """Clip with the package, which finds gradients at their parameters."""
    params = []
    for gradient in gradients:
        if gradient is not None:
            params.append(nn.Parameter(torch.empty_like(gradient)))
            params[-1].grad = gradient
    return float(optim.clip_global_norm(params, max_norm))


# -- judge -----------------------------------------------------------------------------------------

# To numbers near 1e-6 an absolute tolerance is a large one.
_JUDGES = {"float64": agree(rtol=1e-9, atol=0.0), "float32": agree(rtol=1e-5, atol=0.0)}


def _as_accurate(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    return _JUDGES[inputs["dtype"]](observed, expected, inputs)


_MEASURED = "{} in the norm", "{} in the gradients", "the list has None at other places than before"

# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "long gradients",
        "Gradients that are too long, jointly, are all shortened by one factor, in place.",
        draw_long_gradients,
        clip,
        4,
    ),
    near_part(
        "short gradients",
        "Gradients that are short enough stay as they are, and their norm is returned.",
        draw_short_gradients,
        clip_and_measure,
        1,
        saying(*_MEASURED, judge=near),
    ),
    near_part(
        "norm",
        "The joint norm before clipping is returned.",
        draw_any_gradients,
        measure_norm,
        2,
    ),
    near_part(
        "missing gradients",
        "Gradients that are None are passed over, and zeros stay zeros.",
        draw_missing_gradients,
        clip_and_measure,
        0.5,
        saying(*_MEASURED, judge=near),
    ),
    near_part(
        "extremes",
        "Gradients may be tiny or huge, many, or exactly as long as allowed.",
        draw_extreme_gradients,
        clip_and_measure,
        0.5,
        saying(*_MEASURED, judge=_as_accurate),
    ),
    near_part(
        "layout",
        "Gradients may be views with gaps in memory, of which nothing else changes.",
        draw_long_gradients,
        clip_views,
        0.5,
    ),
    Part(
        "dtype",
        "The norm is a float; it and the gradients are as accurate as their dtype, by any default.",
        draw_any_gradients,
        clip_elsewhere,
        judge=saying(
            "{} in the norm", "{} in the gradients", "the norm is no float", judge=exactly()
        ),
        weight=0.5,
    ),
    nothing_else_changes(
        "The list holds the same tensors as before; nothing else changes.",
        draw_missing_gradients,
        clip_and_keep,
        says=("the list holds other tensors than before",),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(gradients, max_norm):
    """The answer that the mistakes start from."""
    present = [gradient for gradient in gradients if gradient is not None]
    squares = [gradient.square().sum().item() for gradient in present]
    norm = math.sqrt(sum(squares))
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Each tensor is clipped on its own.",
        replace={
            "gradient *= max_norm / norm": (
                "gradient *= max_norm / max(gradient.norm().item(), max_norm)"
            ),
        },
        hint="You clip each tensor on its own. That turns the step into another direction: "
        "compute one norm of everything, and one factor for all.",
    ),
    mistake(
        "Short gradients are made longer.",
        replace={"norm > max_norm": "norm > 0"},
        hint="You scale short gradients too, and so make them longer. Where the model is nearly "
        "done, it would jump away again: clip only what is above max_norm.",
    ),
    mistake(
        "The norm after clipping is returned.",
        replace={
            "squares = [gradient.square().sum().item() for gradient in present]": (
                "norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))"
            ),
            "norm = math.sqrt(sum(squares))": "",
            "return norm": "return min(norm, max_norm)",
        },
        hint="The gradients are right, but you return the norm after clipping. The one before is "
        "worth watching: it shows when training is about to explode.",
    ),
    mistake(
        "The root is missing: the squared norm is compared and returned.",
        replace={"math.sqrt(sum(squares))": "sum(squares)"},
        hint="Your norm has no square root. So it is far too large for long gradients, and too "
        "small for short ones.",
        keeps=0.5,
    ),
    mistake(
        "The norms of the tensors are added up.",
        replace={"math.sqrt(sum(squares))": "sum(map(math.sqrt, squares))"},
        hint="You add up the norms of the tensors. The joint norm is that of one long vector: sum "
        "the squares of all numbers, and take the root once.",
    ),
    mistake(
        "The norm of the longest tensor is used as the joint norm.",
        replace={"math.sqrt(sum(squares))": "math.sqrt(max(squares, default=0.0))"},
        hint="You use the norm of the longest tensor for the whole. All tensors together are one "
        "vector, and it is longer than each: sum all squares.",
    ),
    mistake(
        "Each number is cut off at max_norm.",
        replace={"gradient *= max_norm / norm": "gradient.clamp_(-max_norm, max_norm)"},
        hint="You cut off single numbers. That changes the direction of the step, and leaves many "
        "small numbers as long as they were. Multiply everything by one factor.",
    ),
    mistake(
        "New tensors are put into the list; the caller's own stay as they are.",
        replace={
            "for gradient in present:": "for place, gradient in enumerate(gradients):",
            "gradient *= max_norm / norm": """
                if gradient is not None:
                    gradients[place] = gradient * (max_norm / norm)
            """,
        },
        hint="You put new tensors into the list. The caller's tensors, which the optimizer reads, "
        "stay as they were: multiply them in place.",
    ),
    mistake(
        "The scaled tensor is given a name and lost.",
        replace={"gradient *= max_norm / norm": "gradient = gradient * (max_norm / norm)"},
        hint="You compute the shorter gradient, but give it only a name of your own. The tensor "
        "itself does not change: multiply in place.",
    ),
    mistake(
        "A missing gradient is treated like the others.",
        replace={" if gradient is not None": ""},
        hint="You treat None like a tensor. A weight that took no part in the loss has no "
        "gradient: pass over it.",
    ),
    mistake(
        "Everything after a missing gradient is left out.",
        replace={
            "present = [gradient for gradient in gradients if gradient is not None]": "",
            "squares = [gradient.square().sum().item() for gradient in present]": """
                present = []
                for gradient in gradients:
                    if gradient is None:
                        break
                    present.append(gradient)
                norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
            """,
            "norm = math.sqrt(sum(squares))": "",
        },
        hint="At the first None you stop, and all gradients after it are forgotten. Pass over it "
        "and go on.",
    ),
    mistake(
        "Missing gradients are taken out of the caller's list.",
        replace={"if norm > max_norm:": "gradients[:] = present\nif norm > max_norm:"},
        hint="You take every None out of the caller's list, so its places no longer fit the "
        "weights. Pass over None, and leave the list as it is.",
    ),
    mistake(
        "Absolute values are summed up instead of squares.",
        replace={"gradient.square()": "gradient.abs()", "math.sqrt(sum(squares))": "sum(squares)"},
        hint="You add up absolute values. The norm that is meant is the length of a vector: the "
        "root of the sum of squares.",
    ),
    mistake(
        "Long gradients are shortened to the norm 1, whatever max_norm is.",
        replace={"max_norm / norm": "1 / norm"},
        hint="You make long gradients as long as 1. They should be as long as max_norm: what must "
        "the factor be?",
    ),
)

CHECK = Check(
    item="ps3_clip_global_norm",
    points=8,
    target="clip_global_norm",
    reference=clip_global_norm,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "if norm > max_norm:  →  if norm >= max_norm:": "At equality the factor is 1.",
    },
)
