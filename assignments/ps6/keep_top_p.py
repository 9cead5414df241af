"""The task "top-p"."""

import math  # noqa: F401  (read by a replacement)
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed

from ..contracts import Contract
from ..tensors import Generator, any_layout, call, cost_case, keeps, near_part, tensor_case
from .inputs import new_tensor, shape_text, shuffled

# -- inputs ----------------------------------------------------------------------------------------
# No sum of these, from the largest downwards, is near one of the p that are asked with them.

STEEP = (0.55, 0.24, 0.13, 0.05, 0.03)
FLAT = (0.23, 0.19, 0.17, 0.15, 0.14, 0.12)
OTHER = (0.23, 0.19, 0.17, 0.15, 0.26)
HALVES = (0.5, 0.25, 0.125, 0.125 - 2**-10, 2**-10)
EVEN = (0.25, 0.25, 0.25, 0.25)
CONTRACT = Contract("*rows V; -", empty="rows")


def _case(probs: Tensor, p: float, what: str = "") -> Case:
    dtype = str(probs.dtype).removeprefix("torch.")
    return tensor_case(f"shape {shape_text(probs.shape)}, p {p:g}{what}", dtype, probs, p)


def _rows(rng: Generator, rows: Sequence[Sequence[float]], dtype: str = "float64") -> Tensor:
    return torch.stack([shuffled(rng, row, dtype) for row in rows])


def draw_values(rng: Generator) -> list[Case]:
    """Rows without equals, and sums far from p."""
    return [
        _case(shuffled(rng, STEEP), 0.7),
        _case(shuffled(rng, STEEP), 0.9),
        _case(_rows(rng, [FLAT, FLAT, FLAT], "float32"), 0.5),
        _case(_rows(rng, [FLAT, (0.9, 0.04, 0.03, 0.02, 0.007, 0.003)]), 0.8),
        _case(_rows(rng, [STEEP] * 5), 0.6),
        _case(_rows(rng, [STEEP, OTHER]), 0.95),
    ]


def draw_borders(rng: Generator) -> list[Case]:
    """Exact sums that are p; the smallest p there is."""
    return [
        _case(shuffled(rng, HALVES), 0.75, ", which is reached"),
        _case(shuffled(rng, HALVES), 0.5, ", which is reached"),
        _case(shuffled(rng, HALVES), 0.875, ", which is reached"),
        _case(shuffled(rng, STEEP), 1e-9),
        _case(shuffled(rng, (0.995, 0.003, 0.002)), 0.994, ": one id is enough"),
        _case(shuffled(rng, (0.995, 0.003, 0.0015, 0.0005)), 0.999),
        _case(shuffled(rng, (0.999, 0.00095, 0.00004, 0.00001)), 0.9999),
        _case(_rows(rng, [STEEP, OTHER], "float32"), 0.1, ": one id is enough"),
    ]


def draw_ties(rng: Generator) -> list[Case]:
    """Equal probabilities, of which some are taken."""
    rows = torch.tensor([EVEN, [0.125, 0.5, 0.25, 0.125]], dtype=torch.float64)
    long = torch.tensor([0.0625, 0.125, 0.0625, 0.125, 0.25, 0.0625, 0.25, 0.0625])
    cases = [_case(rows, p, ", with equals") for p in (0.5, 0.8, 0.3)]
    many = torch.full((64,), 1 / 64, dtype=torch.float64)
    near = torch.tensor([0.25 - 1e-9, 0.25 + 1e-9, 0.5], dtype=torch.float64)
    return [
        *cases,
        *(_case(long, p, ", with equals") for p in (0.2, 0.6, 0.8)),
        _case(many, 40 / 64, ", all equal"),
        _case(torch.tensor([[0.5, 0.5], [0.25, 0.75]]), 0.5, ", with equals"),
        _case(torch.full((512,), 1 / 512), 0.5, ", all equal"),
        _case(near, 0.6, ", two of them nearly equal"),
    ]


def draw_whole(rng: Generator) -> list[Case]:
    """A p of 1."""
    tail = torch.full((2000,), 1e-9, dtype=torch.float32)
    tail[int(rng.integers(2000))] = 1 - 1999e-9
    return [
        _case(shuffled(rng, STEEP), 1.0),
        _case(_rows(rng, [FLAT, FLAT], "float32"), 1.0),
        _case(tail, 1.0, ", most of it on one id"),
        _case(torch.tensor([[0.0, 0.5, 0.0, 0.5]]), 1.0, ", some 0"),
        _case(torch.tensor([[1.0, 1e-9, 0.0], [1e-12, 1e-9, 1.0]]), 1.0, ", one of them nearly 1"),
        _case(torch.tensor([[1.0, 1e-30]], dtype=torch.float64), 1.0, ", one of them nearly 1"),
    ]


def draw_zeros(rng: Generator) -> list[Case]:
    """Probabilities of 0, and a row that is sure."""
    return [
        _case(shuffled(rng, (*STEEP, 0.0, 0.0, 0.0)), 0.9, ", some 0"),
        _case(torch.tensor([0.0, *STEEP[::-1]], dtype=torch.float64), 0.9, ", rising from 0"),
        _case(torch.tensor([[0.0, 0.0, 1.0, 0.0], EVEN], dtype=torch.float64), 0.9, ", one sure"),
        _case(_rows(rng, [(1.0, 0.0, 0.0)] * 2, "float32"), 0.5, ": sure"),
        _case(torch.ones(3, 1, dtype=torch.float64), 0.4, ": a single id"),
    ]


def draw_axes(rng: Generator) -> list[Case]:
    """Several axes, axes of length 1."""
    return [
        _case(_rows(rng, [STEEP] * 6).reshape(2, 3, 5), 0.7),
        _case(_rows(rng, [FLAT] * 2).reshape(1, 2, 1, 6), 0.5),
    ]


def draw_layouts(rng: Generator) -> list[Case]:
    """Rows below two axes and below one."""
    return [*draw_values(rng)[1:4], draw_axes(rng)[0]]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_borders(rng), *draw_ties(rng), *draw_whole(rng), *draw_zeros(rng)]


def draw_new(rng: Generator) -> list[Case]:
    """Cases in which nothing is cut off."""
    single = _case(torch.ones(3, 1, dtype=torch.float64), 0.4, ": a single id")
    return [*draw_whole(rng), *draw_values(rng)[:1], single]


def draw_long(rng: Generator) -> list[Case]:
    """A few rows and 400 more; a small vocabulary and a large one."""
    few, many = (_rows(rng, [STEEP] * n) for n in (3, 403))
    large = torch.softmax(torch.from_numpy(rng.standard_normal(405)), dim=0)
    return [
        cost_case("3 and 403 rows", [few, 0.7], [many, 0.7], 400),
        cost_case("5 and 405 ids", [few[0], 0.7], [large, 0.7], 400),
    ]


# -- probes ----------------------------------------------------------------------------------------


def support(implementation, inputs):
    """Return which ids have a probability above 0, and whether each row sums to about 1."""
    result = implementation(*inputs["arguments"])
    sums = result.double().sum(dim=-1)
    return result > 0, bool(((sums - 1).abs() < 1e-3).all())


# -- the reference version -------------------------------------------------------------------------


def keep_top_p(probs: Tensor, p: float) -> Tensor:
    """Let NumPy sort the negated rows, and keep the sums before each id that are below p."""
    rows = probs.numpy().reshape(-1, probs.shape[-1])
    order = np.argsort(-rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1).astype(np.float64)
    before = np.cumsum(ordered, axis=1) - ordered
    nucleus = np.where((before < p) | (p >= 1), ordered, 0.0)
    kept = np.zeros_like(ordered)
    np.put_along_axis(kept, order, nucleus / nucleus.sum(axis=1, keepdims=True), axis=1)
    return torch.from_numpy(kept).to(probs.dtype).reshape(probs.shape)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "The likeliest ids that together reach p stand, brought to sum 1; the others are 0.",
        draw_values,
        call,
        5,
    ),
    near_part(
        "borders",
        "The id that reaches p is the last one taken, and at least one is taken.",
        draw_borders,
        call,
        2,
    ),
    near_part(
        "equals",
        "Of equally likely ids the smaller is taken first, and none that is not needed.",
        draw_ties,
        call,
        1.5,
    ),
    Part(
        "a p of 1",
        "With a p of 1 no probability above 0 becomes 0.",
        draw_whole,
        support,
        judge=saying(
            "an id whose probability is above 0 gets none, or one gets some whose is 0",
            "the probabilities of a row do not sum to one",
        ),
        weight=1,
    ),
    near_part("zeros", "Probabilities may be 0, and one may be 1.", draw_zeros, call, 1),
    near_part(
        "axes",
        "There may be any number of axes before the last, and any of them may be empty.",
        draw_axes,
        call,
        1,
    ),
    any_layout(draw_layouts, 0.5, CONTRACT),
    *keeps(draw_values, draw_hard_cases),
    new_tensor(draw_new),
    not_allowed(longer=draw_long),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(probs, p):
    """The answer that the mistakes start from."""
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    is_taken = (before < p) | (p >= 1)
    nucleus = ordered.where(is_taken, 0)
    nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, nucleus)


@mistake(
    hint="You keep every id that is as likely as the last one needed. Of equals only as many are "
    "taken as it takes to reach p, the smaller ids first."
)
def all_equals(probs, p):
    """All ids as likely as the last one taken stay."""
    ordered = probs.sort(dim=-1, descending=True).values
    before = ordered.cumsum(dim=-1) - ordered
    n = ((before < p) | (p >= 1)).sum(dim=-1, keepdim=True)
    if probs.numel() == 0:
        return probs.clone()
    least = ordered.gather(-1, n - 1)
    kept = probs.where(probs >= least, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


@mistake(
    hint="You keep the ids whose own probability is at least 1 - p, or p. The nucleus is found by "
    "the *sum* of the likeliest: sort, and add up."
)
def by_own_probability(probs, p):
    """Each id is compared with the limit by itself."""
    kept = probs.where((probs >= 1 - p) | (probs == probs.amax(dim=-1, keepdim=True)), 0)
    return kept / kept.sum(dim=-1, keepdim=True)


@mistake(
    hint="Your rows are right, but they are made piece by piece, in a loop. `sort`, `cumsum` and "
    "`scatter` work along the last axis of any tensor, for all rows at once."
)
def row_by_row(probs, p):
    """A loop goes from row to row."""
    rows = [right_answer(row, p) for row in probs.reshape(-1, probs.shape[-1])]
    return torch.stack(rows).reshape(probs.shape) if rows else probs.clone()


MISTAKES = mistakes(
    right_answer,
    all_equals,
    by_own_probability,
    mistake(
        "The nucleus is not brought to sum 1.",
        replace={"nucleus / nucleus.sum(dim=-1, keepdim=True)": "nucleus"},
        hint="What you took does not sum to 1. Divide it by its sum, so that it is a distribution "
        "again.",
        keeps=0.5,
    ),
    mistake(
        "The nucleus is divided by p instead of its sum.",
        replace={"nucleus / nucleus.sum(dim=-1, keepdim=True)": "nucleus / p"},
        hint="You divide by p. The nucleus reaches p, but mostly it has more: divide by its own "
        "sum.",
        keeps=0.5,
    ),
    mistake(
        "The nucleus passes through a softmax.",
        replace={
            "nucleus / nucleus.sum(dim=-1, keepdim=True)": (
                "nucleus.masked_fill(~is_taken, -math.inf).softmax(dim=-1)"
            )
        },
        hint="You normalise the nucleus by a softmax, which takes its probabilities for logits "
        "and makes them nearly equal. Divide by the sum: ratios stay as they were.",
    ),
    mistake(
        "The id that reaches p is left out.",
        replace={"before < p": "before + ordered <= p"},
        hint="You stop before p is reached. The id that crosses p is taken, too; otherwise a very "
        "sure model would be left with nothing.",
        keeps=0.5,
    ),
    mistake(
        "The id that crosses p is left out, but one id always stays.",
        replace={"(before < p)": "(before + ordered <= p) | (before == 0)"},
        hint="You take ids as long as their sum is at most p. Take them until it is p *or more*: "
        "the id that crosses p belongs to the nucleus.",
        keeps=0.5,
    ),
    mistake(
        "One id too many is taken where p is reached exactly.",
        replace={"before < p": "before <= p"},
        hint="Where the sum is exactly p, you take one id more. An id is taken only if the sum of "
        "those before it is still *below* p.",
    ),
    mistake(
        "One id too many is always taken.",
        replace={"before < p": "before - ordered.roll(1, -1) * (before > 0) < p"},
        hint="You take one id after p has been reached. The id that reaches p is the last one.",
        keeps=0.5,
    ),
    mistake(
        "The probabilities stay in falling order.",
        replace={"torch.zeros_like(probs).scatter(-1, places, nucleus)": "nucleus"},
        hint="Your probabilities are in falling order, so they belong to other ids now. Put each "
        "back to the place from which it came.",
        keeps=0.3,
    ),
    mistake(
        "The probabilities are put back by the wrong order.",
        replace={
            "torch.zeros_like(probs).scatter(-1, places, nucleus)": ("nucleus.gather(-1, places)")
        },
        hint="You put the probabilities back with `gather` and the order of the sort, which sorts "
        "once more. `scatter` puts value number j to the place `places[j]`.",
        keeps=0.5,
    ),
    mistake(
        "The least likely ids are taken first.",
        replace={"descending=True": "descending=False"},
        hint="You add up from the least likely id. The nucleus is the *smallest* set that reaches "
        "p: take the likeliest first.",
        keeps=0.3,
    ),
    mistake(
        "Ids are taken in their own order, not by probability.",
        replace={
            "probs.sort(dim=-1, descending=True, stable=True)": (
                "probs, torch.arange(probs.shape[-1]).expand(probs.shape)"
            )
        },
        hint="You add up the ids in the order of their numbers. Sort them by probability first.",
    ),
    mistake(
        "Of equals, the larger id is taken first.",
        replace={
            "probs.sort(dim=-1, descending=True, stable=True)": (
                "(x.flip(-1) for x in probs.sort(dim=-1, stable=True))"
            )
        },
        hint="Of equally likely ids you take the larger first: an ascending sort read backwards "
        "reverses the order of ties. Sort with `descending=True, stable=True`.",
    ),
    mistake(
        "All rows share one nucleus.",
        replace={
            "is_taken = (before < p) | (p >= 1)": (
                "is_taken = ((before < p) | (p >= 1)).reshape(-1, probs.shape[-1])[:1].expand("
                "math.prod(probs.shape[:-1]), -1).reshape(probs.shape)"
            )
        },
        hint="You keep as many ids in every row as in the first. How many it takes to reach "
        "p differs from row to row.",
    ),
    mistake(
        "With a p of 1 the rarest ids are lost by rounding.",
        replace={"(before < p) | (p >= 1)": "before < p"},
        hint="With a p of 1 you compare sums with 1, and rounding makes them 1 too early: the "
        "rarest ids become 0. Nothing is cut off then.",
    ),
    mistake(
        "What is cut off becomes -inf.",
        replace={"ordered.where(is_taken, 0)": "ordered.where(is_taken, -math.inf)"},
        hint="You cut off with -inf, which is for logits. These are probabilities: those of "
        "ids outside the nucleus are 0.",
        keeps=0.5,
    ),
    mistake(
        "The caller's probabilities are overwritten.",
        replace={
            "torch.zeros_like(probs).scatter(-1, places, nucleus)": (
                "probs.scatter_(-1, places, nucleus)"
            )
        },
        hint="Your result is right, but you have written it into the caller's tensor. Scatter into "
        "a new one: `torch.zeros_like(probs)`.",
    ),
    mistake(
        "With a p of 1 the caller's own tensor is returned.",
        replace={
            "before = ordered.cumsum(dim=-1) - ordered": """
            if p >= 1:
                return probs
            before = ordered.cumsum(dim=-1) - ordered
        """
        },
        hint="If nothing is cut off, you return the argument itself. Who then writes into the "
        "result changes the argument, too: return a new tensor.",
    ),
    mistake(
        "Everything is computed in float32, whatever was given.",
        replace={
            "torch.zeros_like(probs).scatter(-1, places, nucleus)": (
                "torch.zeros_like(probs).scatter(-1, places, nucleus.float().to(probs.dtype))"
            )
        },
        hint="For float64 you lose half of the digits: somewhere you go over to float32. Stay in "
        "the dtype of the probabilities.",
    ),
    row_by_row,
)

CHECK = Check(
    item="ps6_keep_top_p",
    points=12,
    target="keep_top_p",
    reference=keep_top_p,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
