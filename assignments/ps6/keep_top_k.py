"""The task "top-k"."""

import math

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.decoding.samplers import top_k_mask

from ..contracts import Contract
from ..tensors import Generator, any_layout, call, cost_case, keeps, tensor_case
from .inputs import exact, new_tensor, shape_text, shuffled

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*rows V; -", empty="rows")


def _case(logits: Tensor, k: int, what: str = "") -> Case:
    dtype = str(logits.dtype).removeprefix("torch.")
    return tensor_case(f"shape {shape_text(logits.shape)}, k {k}{what}", dtype, logits, k)


def _rows(rng: Generator, V: int, *axes: int, dtype: str = "float64") -> Tensor:
    """Draw rows without equals, of numbers on both sides of 0; each row stands far from others."""
    n_rows = math.prod(axes)
    steps = [1.5 * (i - V // 2) + rng.uniform(0, 0.5) for i in range(V)]
    rows = [shuffled(rng, steps, dtype) + 100.0 * (row % 3 - 1) for row in range(n_rows)]
    return torch.stack(rows).reshape(*axes, V)


def draw_values(rng: Generator) -> list[Case]:
    """Rows in which no two logits are equal."""
    return [
        _case(_rows(rng, 5), 2),
        _case(_rows(rng, 7, 3), 3),
        _case(_rows(rng, 11, 4, dtype="float32"), 1),
        _case(_rows(rng, 4, 4), 3),
        _case(_rows(rng, 40, 2), 10),
    ]


def draw_ties(rng: Generator) -> list[Case]:
    """Equal logits: at the limit, above it, and all of them."""
    shift = float(rng.integers(1, 5))
    rows = [
        (torch.tensor([2.0, 5.0, 1.0, 4.0, 4.0], dtype=torch.float64) + shift, (2, 3, 4)),
        (torch.tensor([3.0, 3.0, 0.0, 3.0, -1.0, 2.0], dtype=torch.float64) + shift, (1, 2, 4, 5)),
        (torch.full((7,), shift, dtype=torch.float64), (1, 3)),
        (torch.tensor([0.0, -0.0, 0.0, -1.0], dtype=torch.float64), (1, 2)),
    ]
    cases = [_case(logits, k, ", with equals") for logits, ks in rows for k in ks]
    near = torch.tensor([[1.0, 1 - 1e-9, 1 - 2e-9, 0.0]], dtype=torch.float64) + shift
    next_to = torch.tensor([[shift, math.nextafter(shift, 0), 0.0]], dtype=torch.float64)
    beside = [(near, 1), (near, 2), (next_to, 1)]
    return [*cases, *(_case(logits, k, ", with nearly equals") for logits, k in beside)]


def draw_many(rng: Generator) -> list[Case]:
    """As many as there are, and more."""
    return [
        _case(_rows(rng, 4, 2), 4),
        _case(_rows(rng, 4, 2), 5),
        _case(_rows(rng, 3), 50_000),
        _case(_rows(rng, 1, 3), 1, ": a single id"),
    ]


def draw_infinite(rng: Generator) -> list[Case]:
    """Some logits, or all, are -inf already."""
    some = _rows(rng, 6, 2)
    some[0, 1], some[0, 4], some[1, :5] = -math.inf, -math.inf, -math.inf
    nothing = torch.full((2, 3), -math.inf, dtype=torch.float64)
    return [
        *(_case(some, k, ", some -inf") for k in (1, 3, 5)),
        _case(nothing, 2, ", all -inf"),
        _case(_rows(rng, 5, 2) * 1e300, 2, ", enormous"),
        _case(_rows(rng, 5, 2, dtype="float32") - 1e6, 2, ", all near -1000000"),
    ]


def draw_axes(rng: Generator) -> list[Case]:
    """Several axes, axes of length 1."""
    return [
        _case(_rows(rng, 5, 2, 3), 2),
        _case(_rows(rng, 6, 1, 2, 1), 4),
        _case(_rows(rng, 3, 3, 3), 2),
    ]


def draw_halves(rng: Generator) -> list[Case]:
    """Half precision."""
    return [
        _case(_rows(rng, 5, 2, dtype="float16"), 2),
        _case(_rows(rng, 6, 3, dtype="bfloat16"), 3),
    ]


def draw_layouts(rng: Generator) -> list[Case]:
    """Rows below two axes and below one."""
    return [*draw_values(rng)[:2], draw_axes(rng)[0]]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_ties(rng), *draw_many(rng), *draw_infinite(rng), *draw_axes(rng)]


def draw_precise(rng: Generator) -> list[Case]:
    """All dtypes."""
    return [*draw_values(rng), *draw_halves(rng)]


def draw_long(rng: Generator) -> list[Case]:
    """A few rows and 400 more; a small vocabulary and a large one."""
    few, many = (_rows(rng, 5, n) for n in (3, 403))
    small, large = (_rows(rng, v) for v in (5, 405))
    return [
        cost_case("3 and 403 rows", [few, 2], [many, 2], 400),
        cost_case("5 and 405 ids", [small, 2], [large, 2], 400),
        cost_case("2 and 402 that stay", [large, 2], [large, 402], 400),
    ]


# -- the reference version -------------------------------------------------------------------------


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Ask the package's mask, which takes rows."""
    rows = logits.reshape(-1, logits.shape[-1])
    return rows.masked_fill(~top_k_mask(rows, k), -math.inf).reshape(logits.shape)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "In each row the k largest logits stay as they are, and all others become -inf.",
        draw_values,
        call,
        judge=exact,
        weight=5,
    ),
    Part(
        "equals",
        "Logits equal to the smallest that stays stay, too; equals count one by one.",
        draw_ties,
        call,
        judge=exact,
        weight=2,
    ),
    Part("many", "With a k of V or more, all stay.", draw_many, call, judge=exact, weight=1),
    Part(
        "infinite",
        "Logits may be -inf already, and very large.",
        draw_infinite,
        call,
        judge=exact,
        weight=1,
    ),
    Part(
        "axes",
        "There may be any number of axes before the last, and any of them may be empty.",
        draw_axes,
        call,
        judge=exact,
        weight=1,
    ),
    Part("half precision", "Half precision will do.", draw_halves, call, judge=exact, weight=0.5),
    any_layout(draw_layouts, 0.5, CONTRACT),
    *keeps(draw_precise, draw_hard_cases),
    new_tensor(draw_many),
    not_allowed(longer=draw_long),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(logits, k):
    """The answer that the mistakes start from."""
    n_kept = min(k, logits.shape[-1])
    least = logits.topk(n_kept, dim=-1).values[..., -1:]
    is_kept = logits >= least
    return logits.masked_fill(~is_kept, -math.inf)


@mistake(
    hint="You let exactly k stand and cut off a logit that equals the smallest of them. Which of "
    "two equals stays would be chance: compare with the k-th largest, and keep both."
)
def exactly_k(logits, k):
    """Exactly k stay, even if others are equal."""
    top = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, -math.inf).scatter(-1, top.indices, top.values)


@mistake(
    hint="You find the k-th largest among *different* values, so equals count only once. Each "
    "logit counts by itself: of 5, 4, 4, 2 the third largest is 4."
)
def equals_count_once(logits, k):
    """Equal logits count once."""
    if logits.numel() == 0:
        return logits.clone()
    ordered = logits.sort(dim=-1, descending=True).values
    is_new = torch.ones_like(ordered, dtype=torch.bool)
    is_new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    stays = is_new.cumsum(dim=-1) <= k
    least = ordered.masked_fill(~stays, math.inf).amin(dim=-1, keepdim=True)
    return logits.masked_fill(logits < least, -math.inf)


@mistake(
    hint="Your rows are right, but they are made piece by piece, in a loop. `topk` works along the "
    "last axis of any tensor, for all rows at once."
)
def row_by_row(logits, k):
    """A loop goes from row to row."""
    rows = [right_answer(row, k) for row in logits.reshape(-1, logits.shape[-1])]
    return torch.stack(rows).reshape(logits.shape) if rows else logits.clone()


@mistake(
    hint="Your rows are right, but you look for the largest logit k times over. `topk` finds the "
    "k largest of all rows in one go."
)
def largest_by_largest(logits, k):
    """A loop takes the largest, k times."""
    left = limit = logits.clone()
    for _ in range(min(k, logits.shape[-1])):
        limit, place = left.max(dim=-1, keepdim=True)
        left = left.scatter(-1, place, -math.inf)
    return logits.masked_fill(logits < limit, -math.inf)


MISTAKES = mistakes(
    right_answer,
    exactly_k,
    equals_count_once,
    mistake(
        "What is cut off becomes 0.",
        replace={"masked_fill(~is_kept, -math.inf)": "masked_fill(~is_kept, 0)"},
        hint="You set logits to 0. A logit of 0 is a score like any other, often a good one: only "
        "-inf becomes the probability 0.",
        keeps=0.3,
    ),
    mistake(
        "What is cut off becomes a large negative number.",
        replace={"masked_fill(~is_kept, -math.inf)": "masked_fill(~is_kept, -1e4)"},
        hint="You set logits to a large negative number. Next to logits of its own size it cuts "
        "nothing off: -inf is below all of them.",
        keeps=0.5,
    ),
    mistake(
        "The k smallest stay.",
        replace={
            "logits.topk(n_kept, dim=-1)": "logits.topk(n_kept, dim=-1, largest=False)",
            ("logits >= least"): "logits <= least",
        },
        hint="You keep the k smallest logits. The likeliest ids are those with the largest.",
        keeps=0.3,
    ),
    mistake(
        "One more than k stays.",
        replace={"min(k, logits.shape[-1])": "min(k + 1, logits.shape[-1])"},
        hint="You let k + 1 stand. With k = 1 only the likeliest id is left.",
        keeps=0.5,
    ),
    mistake(
        "The smallest of the k is cut off, too.",
        replace={"logits >= least": "logits > least"},
        hint="You keep what is *above* the k-th largest logit, so the k-th itself is lost, and "
        "with k = 1 everything. What equals it stays.",
        keeps=0.5,
    ),
    mistake(
        "All rows share one limit.",
        replace={
            "logits.topk(n_kept, dim=-1).values[..., -1:]": (
                "logits.flatten().topk(min(n_kept, logits.numel())).values[-1:]"
                " if logits.numel() else logits.new_zeros(1)"
            )
        },
        hint="You take the k largest of the whole batch. Each row is the next id of another text: "
        "the limit is its own.",
    ),
    mistake(
        "The limit of the first row is used for all.",
        replace={"is_kept = logits >= least": ("is_kept = logits >= least.reshape(-1)[:1]")},
        hint="You use the limit of the first row for all rows. Keep the last axis of the limits, "
        "with length 1, so that they are compared row by row.",
    ),
    mistake(
        "A k above V is refused.",
        replace={"min(k, logits.shape[-1])": "k"},
        hint="For a k above V your answer breaks, as `topk` does by itself. Then all logits stay, "
        "so take the smaller of both.",
    ),
    mistake(
        "A k of V cuts one off.",
        replace={"min(k, logits.shape[-1])": "min(k, max(logits.shape[-1] - 1, 1))"},
        hint="You cut off at least one logit, always. With a k of V nothing is cut off: all of "
        "them are among the V largest.",
    ),
    mistake(
        "The first axis is cut instead of the last.",
        replace={
            "min(k, logits.shape[-1])": "min(k, logits.shape[0])",
            "logits.topk(n_kept, dim=-1).values[..., -1:]": (
                "logits.topk(n_kept, dim=0).values[-1:]"
            ),
        },
        hint="You compare the scores that one id has in several rows. The ids stand along the last "
        "axis: `dim=-1`.",
    ),
    mistake(
        "Probabilities are returned.",
        replace={
            "masked_fill(~is_kept, -math.inf)": ("masked_fill(~is_kept, -math.inf).softmax(dim=-1)")
        },
        hint="You return probabilities. The result holds logits: those that stay are exactly as "
        "they were.",
        keeps=0.5,
    ),
    mistake(
        "Only the k largest are returned.",
        replace={"logits.masked_fill(~is_kept, -math.inf)": "logits.topk(n_kept, dim=-1).values"},
        hint="You return the k largest logits alone. Their places are lost, and with them their "
        "ids: the shape stays (..., V).",
        keeps=0.3,
    ),
    mistake(
        "The logits are multiplied by the mask.",
        replace={
            "logits.masked_fill(~is_kept, -math.inf)": (
                "logits * is_kept + torch.where(is_kept, 0, -math.inf).to(logits.dtype)"
            )
        },
        hint="You multiply by a mask and add -inf. Where a logit is -inf already, 0 times -inf is "
        "nan: choose between two numbers instead.",
    ),
    mistake(
        "The caller's logits are overwritten.",
        replace={
            "logits.masked_fill(~is_kept, -math.inf)": ("logits.masked_fill_(~is_kept, -math.inf)")
        },
        hint="Your result is right, but you have cut the caller's own logits. Methods with an "
        "underscore at their end, and assignments to places, change the tensor itself.",
    ),
    mistake(
        "Where nothing is cut off, the caller's own tensor is returned.",
        replace={
            "n_kept = min(k, logits.shape[-1])": """
            if k >= logits.shape[-1]:
                return logits
            n_kept = min(k, logits.shape[-1])
        """
        },
        hint="If all stay, you return the argument itself. Who then writes into the result "
        "changes the argument, too: return a new tensor.",
    ),
    mistake(
        "The result is float32, whatever was given.",
        replace={
            "logits.masked_fill(~is_kept, -math.inf)": (
                "logits.float().masked_fill(~is_kept, -math.inf)"
            )
        },
        hint="Your result is float32, whatever was given. Nothing is computed here, so the logits "
        "can stay exactly as they are.",
    ),
    row_by_row,
    largest_by_largest,
)

CHECK = Check(
    item="ps6_keep_top_k",
    points=8,
    target="keep_top_k",
    reference=keep_top_k,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
