"""The task "the draw"."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.rules import not_allowed

from ..contracts import Contract
from ..tensors import Generator, any_layout, call, cost_case, tensor_case
from .inputs import exact, keeps_ids, new_tensor, shape_text

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B V; B", empty="B")
EIGHTHS = (0.25, 0.125, 0.5, 0.125)


def _case(probs: Tensor, uniforms: Sequence[float], what: str = "") -> Case:
    numbers = torch.tensor(uniforms, dtype=torch.float64)
    dtype = str(probs.dtype).removeprefix("torch.")
    label = f"probs of shape {shape_text(probs.shape)}, {dtype}{what}"
    return tensor_case(label, "int64", probs, numbers)


def _probs(rng: Generator, n_rows: int, V: int, dtype: str = "float64") -> Tensor:
    """Draw rows in which no piece is small, and no piece is as long as another."""
    shares = np.stack([rng.permutation(2 + np.arange(V)) for _ in range(n_rows)])
    return torch.from_numpy(shares / shares.sum(axis=1, keepdims=True)).to(getattr(torch, dtype))


def _inside(rng: Generator, probs: Tensor, ids: Sequence[int]) -> list[float]:
    """Choose for each row a number inside the piece of an id, not in its middle."""
    rows = probs.double().tolist()
    place = rng.uniform(0.2, 0.8, len(rows))
    return [sum(row[:i]) + row[i] * x for row, i, x in zip(rows, ids, place, strict=True)]


def draw_values(rng: Generator) -> list[Case]:
    """Numbers inside pieces, in all rows another one."""
    cases = []
    for ids, V, dtype in [
        ((2,), 4, "float64"),
        ((1, 3, 0), 5, "float64"),
        ((6, 0, 3, 5, 1), 7, "float32"),
        ((0, 1, 2, 3), 4, "float64"),
        ((9, 29, 14), 30, "float32"),
    ]:
        probs = _probs(rng, len(ids), V, dtype)
        cases.append(_case(probs, _inside(rng, probs, ids)))
    return cases


def draw_borders(rng: Generator) -> list[Case]:
    """Numbers on the borders of pieces, and as little beside them as float64 can show."""
    row = torch.tensor(EIGHTHS, dtype=torch.float64)
    sums = [0.0, 0.25, 0.375, 0.875]
    below = [float(np.nextafter(border, 0)) for border in (0.25, 0.375, 0.875, 1.0)]
    return [
        _case(row.repeat(4, 1), sums, ", on borders"),
        _case(row.float().repeat(4, 1), sums, ", on borders"),
        _case(row.repeat(4, 1), below, ", just below borders"),
        _case(row.float().repeat(4, 1), below, ", just below borders"),
        _case(torch.full((3, 4), 0.25), [0.5, 0.0, 0.75], ", on borders of equal pieces"),
    ]


def draw_zeros(rng: Generator) -> list[Case]:
    """Ids of probability 0 at both ends and between, as after a cut; a row that is sure."""
    row = torch.tensor([0.0, 0.0, 0.25, 0.0, 0.75, 0.0, 0.0], dtype=torch.float64)
    thin = torch.tensor([[0.5, 0.5 - 2**-11, 2**-11]], dtype=torch.float64)
    sure = torch.zeros(3, 5)
    sure[0, 0] = sure[1, 2] = sure[2, 4] = 1.0
    return [
        _case(row.repeat(4, 1), [0.0, 0.25, 0.2, 0.999999], ", many 0"),
        _case(row.float().repeat(3, 1), [0.6, 0.0, 1e-300], ", many 0"),
        _case(sure, [0.0, 0.5, 0.999], ", one of them 1"),
        _case(torch.ones(2, 1), [0.0, 0.9], ": a single id"),
        _case(torch.tensor([[0.0, 1.0]]), [float(np.nextafter(1, 0))], ": a single id above 0"),
        _case(thin.repeat(3, 1), [1 - 2**-10, 0.9992, 1 - 2**-12], ", a thin piece at the end"),
    ]


def draw_rounded(rng: Generator) -> list[Case]:
    """Rows whose sum is a little below 1, and a number above it."""
    third = torch.full((3,), 1 / 3, dtype=torch.float32) - 1e-7
    rows = torch.stack([torch.cat([third, torch.zeros(3)]), torch.cat([torch.zeros(3), third])])
    ending = torch.tensor([[0.5, 0.25, 0.0, 0.25 - 1e-9, 0.0]], dtype=torch.float64)
    ends = [[0.5, 0.4999, 1e-9, 0.0], [0.5, 0.4999, 0.0, 1e-20], [0.9999, 1e-300, 0.0, 0.0]]
    tails = torch.tensor(ends, dtype=torch.float64)
    return [
        _case(rows, [1 - 1e-12, 1 - 1e-12], ", of sums below 1"),
        _case(ending, [1 - 1e-12], ", of a sum below 1"),
        _case(ending.repeat(3, 1), [0.3, 1 - 1e-12, 0.6], ", of sums below 1"),
        _case(torch.tensor([[0.9999999, 0.0]], dtype=torch.float64), [1 - 1e-12], ", below 1"),
        _case(tails, [0.99995] * 3, ", below 1, with very small pieces at the end"),
    ]


def draw_large(rng: Generator) -> list[Case]:
    """A larger vocabulary, and numbers between a sum of float64 and the same of float32."""
    row = torch.full((1000,), 1 / 1000, dtype=torch.float32)
    exact_sums = row.double().cumsum(0)
    error = row.cumsum(0).double() - exact_sums
    ids = rng.permutation(torch.nonzero(error.abs() > 1e-8)[:, 0].numpy())[:8]
    numbers = (exact_sums + error / 2)[ids].clamp(max=1 - 1e-9).tolist()
    return [_case(row.repeat(8, 1), numbers, ", near borders")]


def draw_empty(rng: Generator) -> list[Case]:
    """No row at all; more rows than ids."""
    unlike = torch.tensor([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.3, 0.5, 0.2]]).double()
    probs = _probs(rng, 6, 3)
    numbers = [0.35, 0.45, 0.25, *_inside(rng, probs, [0, 1, 2, 0, 2, 1])]
    return [
        _case(torch.zeros(0, 4), [], ": no row"),
        _case(torch.cat([unlike, probs]), numbers),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Cases of all kinds."""
    return [*draw_values(rng), *draw_borders(rng), *draw_zeros(rng)[:3], *draw_rounded(rng)]


def draw_long(rng: Generator) -> list[Case]:
    """A few rows and 400 more; a small vocabulary and a large one."""
    few, many, large = _probs(rng, 3, 5), _probs(rng, 403, 5), _probs(rng, 3, 405)
    numbers = torch.from_numpy(rng.random(403))
    return [
        cost_case("3 and 403 rows", [few, numbers[:3]], [many, numbers], 400),
        cost_case("5 and 405 ids", [few, numbers[:3]], [large, numbers[:3]], 400),
    ]


# -- the reference version -------------------------------------------------------------------------


def sample(probs: Tensor, uniforms: Tensor) -> Tensor:
    """Let NumPy count the sums, and look for the last id above 0 from the right."""
    rows = probs.numpy().astype(np.float64)
    n_left = (np.cumsum(rows, axis=1) <= uniforms.numpy()[:, None]).sum(axis=1)
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    return torch.from_numpy(np.minimum(n_left, last))


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "In each row the id is drawn in whose piece its number falls.",
        draw_values,
        call,
        judge=exact,
        weight=5,
    ),
    Part(
        "borders",
        "A piece owns its left end, and not its right one.",
        draw_borders,
        call,
        judge=exact,
        weight=1.5,
    ),
    Part(
        "zeros",
        "An id of probability 0 is never drawn.",
        draw_zeros,
        call,
        judge=exact,
        weight=1.5,
    ),
    Part(
        "rounded sums",
        "Where the sum of a row does not reach u, the last id above 0 is drawn.",
        draw_rounded,
        call,
        judge=exact,
        weight=1.5,
    ),
    Part(
        "accuracy",
        "Probabilities are added up in float64.",
        draw_large,
        call,
        judge=exact,
        weight=1,
    ),
    Part("rows", "There may be many rows, or none.", draw_empty, call, judge=exact, weight=0.5),
    any_layout(draw_values, 0.5, CONTRACT, exact),
    *keeps_ids(draw_all),
    new_tensor(draw_all),
    not_allowed(longer=draw_long),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(probs, uniforms):
    """The answer that the mistakes start from."""
    sums = probs.double().cumsum(dim=-1)
    n_left = (sums <= uniforms[:, None]).sum(dim=-1)
    ids = torch.arange(probs.shape[-1])
    last = (ids * (probs > 0)).amax(dim=-1)
    return torch.minimum(n_left, last)


@mistake(
    hint="You draw with `torch.multinomial`, from torch's own random numbers. The draw is to "
    "follow from the numbers that you are given, so that it can be repeated."
)
def multinomial(probs, uniforms):
    """Torch draws, and the given numbers are not used."""
    if len(probs) == 0:
        return torch.zeros(0, dtype=torch.int64)
    return torch.multinomial(probs, 1)[:, 0]


@mistake(
    hint="You take the first place at which the sum is above u by `argmax`, and where there is no "
    "such place, that is 0. By rounding it happens: then the last id above 0 is drawn."
)
def first_where_none(probs, uniforms):
    """Where no sum is above u, id 0 is drawn."""
    if len(probs) == 0:
        return torch.zeros(0, dtype=torch.int64)
    return (probs.double().cumsum(dim=-1) > uniforms[:, None]).int().argmax(dim=-1)


@mistake(
    hint="Your ids are right, but they are drawn piece by piece, in a loop. A matrix of sums and a "
    "column of numbers are compared at once: `uniforms.unsqueeze(-1)`."
)
def row_by_row(probs, uniforms):
    """A loop goes from row to row."""
    rows = [right_answer(row[None], u[None]) for row, u in zip(probs, uniforms, strict=True)]
    return torch.cat(rows) if rows else torch.zeros(0, dtype=torch.int64)


@mistake(
    hint="You sort the ids by probability and draw from the sorted pieces. The pieces lie in the "
    "order of the ids: another order gives another draw for the same number."
)
def likeliest_first(probs, uniforms):
    """The pieces lie in the order of their lengths."""
    if len(probs) == 0:
        return torch.zeros(0, dtype=torch.int64)
    ordered, ids = probs.sort(dim=-1, descending=True, stable=True)
    return ids.gather(-1, right_answer(ordered, uniforms)[:, None])[:, 0]


MISTAKES = mistakes(
    right_answer,
    multinomial,
    first_where_none,
    likeliest_first,
    mistake(
        "A piece owns its right end instead of its left one.",
        replace={"sums <= uniforms": "sums < uniforms"},
        hint="On a border you draw the id to the left, and for u = 0 even an id of probability 0. "
        "A piece begins where the one before it ends, and owns that point.",
    ),
    mistake(
        "An id beyond the vocabulary may be drawn.",
        replace={"torch.minimum(n_left, last)": "n_left"},
        hint="Where a row sums to a little less than 1, and u lies above, you return V. No id has "
        "that number: take the last id above 0.",
    ),
    mistake(
        "Where the sum does not reach u, the last id of all is drawn.",
        replace={"torch.minimum(n_left, last)": "n_left.clamp(max=probs.shape[-1] - 1)"},
        hint="Where the sum of a row does not reach u, you draw id V - 1, even if its probability "
        "is 0. After top-p most are: take the last id *above 0*.",
    ),
    mistake(
        "The probabilities are added up in float32.",
        replace={
            "probs.double().cumsum(dim=-1)": ("probs.float().cumsum(dim=-1, dtype=torch.float32)"),
            "uniforms[:, None]": "uniforms.float()[:, None]",
        },
        hint="You add up in float32, or compare in it. Its rounding moves the borders, so a number "
        "beside one falls into the wrong piece: `probs.double()`.",
    ),
    mistake(
        "The likeliest id is drawn, whatever the number.",
        replace={"torch.minimum(n_left, last)": "probs.argmax(dim=-1)"},
        hint="You return the likeliest id. That is greedy choice; a draw takes other ids, too, as "
        "often as their probabilities say.",
    ),
    mistake(
        "All ids are equally likely.",
        replace={"torch.minimum(n_left, last)": "(uniforms * probs.shape[-1]).long()"},
        hint="You give all ids pieces of the same length. The length of a piece is the id's own "
        "probability.",
    ),
    mistake(
        "All rows use the number of the first.",
        replace={"uniforms[:, None]": "uniforms[:1, None]"},
        hint="You compare all rows with the first number. Each row has one of its own, and texts "
        "in a batch must not be drawn alike.",
    ),
    mistake(
        "All rows use the probabilities of the first.",
        replace={"sums <= uniforms": "sums[:1] <= uniforms"},
        hint="You draw for all rows from the first row's pieces. Each row is another text, with "
        "probabilities of its own.",
    ),
    mistake(
        "The line is read from its right end.",
        replace={"uniforms[:, None]": "(1 - uniforms)[:, None]"},
        hint="You read the line from right to left. It is as random, but not what the contract "
        "asks: the smallest id whose sum is above u.",
        keeps=0.5,
    ),
    mistake(
        "Each probability is compared by itself.",
        replace={"probs.double().cumsum(dim=-1)": "probs.double()"},
        hint="You compare u with single probabilities. The pieces lie side by side: compare it "
        "with their sums, `cumsum`.",
    ),
    mistake(
        "The sums stop before the id itself.",
        replace={"probs.double().cumsum(dim=-1)": "probs.double().cumsum(dim=-1) - probs"},
        hint="Your sums leave out the id's own probability, so you draw an id too large. The sum "
        "up to i contains the probability of i.",
        keeps=0.5,
    ),
    mistake(
        "The result has an axis too many.",
        replace={"torch.minimum(n_left, last)": "torch.minimum(n_left, last)[:, None]"},
        hint="Your result has the shape (B, 1). One id for each row is (B,).",
        keeps=0.5,
    ),
    mistake(
        "The ids are int32.",
        replace={"torch.minimum(n_left, last)": "torch.minimum(n_left, last).int()"},
        hint="Your ids are right, but int32. The contract says int64, which torch's embeddings "
        "and indices expect.",
    ),
    mistake(
        "The caller's probabilities become sums.",
        replace={
            "probs.double().cumsum(dim=-1)": "probs.cumsum_(dim=-1).double()",
            (
                "last = (ids * (probs > 0)).amax(dim=-1)"
            ): "last = (ids * (probs.diff(dim=-1, prepend=probs[:, :1] * 0) > 0)).amax(dim=-1)",
        },
        hint="Your ids are right, but the caller's probabilities have become sums. Write these "
        "into a tensor of your own: `cumsum` makes a new one, `cumsum_` does not.",
    ),
    row_by_row,
)

CHECK = Check(
    item="ps6_sample",
    points=10,
    target="sample",
    reference=sample,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        **{
            f"{line}  →  {line.replace(last, second)}": "The probabilities have two axes."
            for line, last, second in [
                ("sums = probs.double().cumsum(dim=-1)", "dim=-1", "dim=1"),
                ("drawn = (sums <= uniforms.unsqueeze(-1)).sum(dim=-1)", "dim=-1", "dim=1"),
                (
                    "last = ((probs > 0) * torch.arange(probs.shape[-1])).amax(dim=-1)",
                    "dim=-1",
                    "dim=1",
                ),
                (
                    "last = ((probs > 0) * torch.arange(probs.shape[-1])).amax(dim=-1)",
                    "shape[-1]",
                    "shape[1]",
                ),
            ]
        },
        "drawn = (sums <= uniforms.unsqueeze(-1)).sum(dim=-1)  →  "
        "drawn = (sums <= uniforms.unsqueeze(1)).sum(dim=-1)": "The numbers have one axis.",
        "return torch.minimum(drawn, last)  →  return torch.minimum(last, drawn)": (
            "The smaller of two is the same in either order."
        ),
    },
)
