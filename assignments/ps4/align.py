"""The task "alignment"."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import (
    Case,
    Check,
    Part,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import agree, saying

from ..tensors import Generator

# -- inputs ----------------------------------------------------------------------------------------
# All weights are multiples of 1/64, so that ties and thresholds are exact in every dtype.


def _case(weights: Tensor, threshold: float, what: str) -> Case:
    T, S = weights.shape
    label = f"{counted(T, 'row')} of {counted(S, 'weight')}, {what}"
    return Case(label, {"arguments": [weights, threshold]})


def _rows(rng: Generator, rows: Sequence[Sequence[int]], dtype: str = "float32") -> Tensor:
    """Make rows of 64ths; each is permuted, except where it is written as a tuple."""
    shuffled = [row if isinstance(row, tuple) else rng.permutation(row).tolist() for row in rows]
    return torch.tensor(shuffled, dtype=getattr(torch, dtype)).div(64)


def draw_clear_rows(rng: Generator) -> list[Case]:
    """Every row has one largest weight, well above the threshold."""
    several = [(2, 40, 12, 6, 4), (4, 6, 44, 6, 4), [33, 11, 9, 8, 3], [50, 14, 0, 0, 0]]
    crossing = [(50, 6, 8), (4, 12, 48), (10, 44, 10)]
    twice = [(6, 58), (10, 54), (56, 8)]
    return [
        _case(_rows(rng, crossing), 0.25, "every place read once"),
        _case(_rows(rng, twice), 0.25, "a place read twice"),
        _case(_rows(rng, several, "float64"), 0.25, "two of them at places 1 and 2"),
        _case(
            _rows(rng, [(5, 21, 38), (20, 4, 40), (40, 4, 20)]),
            0.25,
            "another above the threshold too",
        ),
        _case(
            torch.tensor([[0.5, 0.5 + 2**-14, 0.0], [0.25, 0.25, 0.25 + 2**-15]]),
            0.25,
            "nearly equal weights",
        ),
        _case(
            torch.tensor([[0.5 - 2**-20, 0.5], [0.25, 0.5 + 2**-20]]), 0.25, "as equal as can be"
        ),
        _case(
            torch.tensor([[0.5, 0.5 + 2**-50], [0.25, 0.5 - 2**-48]], dtype=torch.float64),
            0.25,
            "as equal as can be in float64",
        ),
    ]


def draw_ties(rng: Generator) -> list[Case]:
    """Rows whose largest weight stands at several places."""
    pairs = [(6, 26, 6, 26), (32, 32, 0, 0), (2, 4, 29, 29)]
    return [
        _case(_rows(rng, pairs), 0.125, "two equal"),
        _case(_rows(rng, [(16, 16, 16, 16), (1, 1, 31, 31)], "float64"), 0.125, "four equal"),
        _case(_rows(rng, [(1, 21, 21, 21), (4, 20, 40, 0)]), 0.125, "three equal"),
    ]


def draw_thresholds(rng: Generator) -> list[Case]:
    """Rows below the threshold, in the middle too, and rows that meet it exactly."""
    spread = [(9, 13, 12, 10, 10, 10), (32, 12, 5, 5, 5, 5), [14, 13, 11, 10, 9, 7]]
    spread += [(2, 2, 2, 2, 8, 48), (11, 11, 11, 11, 10, 10)]
    return [
        _case(_rows(rng, [(20, 24, 20), (14, 40, 10)]), 0.5, "one below"),
        _case(_rows(rng, [(16, 32, 16), (2, 30, 32)], "float64"), 0.5, "both at the threshold"),
        _case(_rows(rng, spread), 0.5, "three below and one at the threshold"),
        _case(_rows(rng, [(20, 24, 20), (22, 21, 21)]), 0.75, "all below"),
        _case(_rows(rng, [(0, 0, 0), (8, 48, 8), (0, 0, 0)]), 0.25, "two rows of zeros"),
        _case(_rows(rng, [(32, 48, 0), (64, 0, 0)]), 1.0, "one meeting a threshold of 1"),
        _case(torch.tensor([[0.5 - 2**-14, 0.0], [0.5, 0.1]]), 0.5, "one a hair below"),
        _case(
            torch.tensor([[0.5 - 2**-40, 0.0], [0.5, 0.1]], dtype=torch.float64),
            0.5,
            "one a hair of float64 below",
        ),
        _case(_rows(rng, [(20, 0, 0), (40, 40, 0)]), 0.5, "rows that do not sum to 1"),
    ]


def draw_sizes(rng: Generator) -> list[Case]:
    """Sizes of 0 and 1, and more rows than places."""
    tall = [(24, 40), (40, 24), (2, 62), (33, 31), (60, 4)]
    return [
        _case(torch.ones(1, 1), 0.5, "a single place"),
        _case(torch.zeros(0, 3), 0.5, "an empty text"),
        _case(torch.ones(3, 1, dtype=torch.float64), 0.5, "one place for all"),
        _case(_rows(rng, tall), 0.5, "more rows than places"),
        _case(
            _rows(rng, [tuple(6 * (s == 11) + 2 * (s != 11) for s in range(29))]), 0.0625, "wide"
        ),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_clear_rows(rng)[-2:], *draw_ties(rng)[:1], *draw_thresholds(rng)[:2]]


# -- probes ----------------------------------------------------------------------------------------


def pairs(implementation, inputs):
    """Return the pairs as numbers, whatever container and whatever integers they stand in."""
    return [tuple(int(place) for place in pair) for pair in implementation(*inputs["arguments"])]


def form(implementation, inputs):
    """Return whether the result is a list, not empty, of tuples of two int."""
    result = implementation(*inputs["arguments"])
    is_list = type(result) is list and len(result) > 0
    pairs = all(type(pair) is tuple and len(pair) == 2 for pair in result)
    return is_list, pairs, all(type(number) is int for pair in result for number in pair)


def read_twice(implementation, inputs):
    """Read weights that carry a graph, in another order in memory; return what may change."""
    import torch

    weights, threshold = inputs["arguments"]
    graph, leaf = weights.mT.contiguous().requires_grad_().mT, weights.clone().requires_grad_()
    result, again = implementation(graph, threshold), implementation(weights, threshold)
    implementation(leaf, threshold)
    same = torch.equal(graph.detach(), weights) and list(result) == list(again)
    return result, same, weights, leaf.requires_grad and not weights.requires_grad


# -- the reference version -------------------------------------------------------------------------


def align(weights: Tensor, threshold: float) -> list[tuple[int, int]]:
    """Look for the leftmost best place of each row, with NumPy."""
    table = weights.detach().double().numpy()
    if not len(table):
        return []
    best = np.argmax(table, axis=1)
    return [(t, int(s)) for t, s in enumerate(best) if table[t, s] >= threshold]


# -- parts -----------------------------------------------------------------------------------------

_form = saying(
    "the result is no list, or an empty one",
    "an item of the result is no tuple of two",
    "a number in the result is no int",
)

PARTS = (
    Part(
        "best place",
        "Each row is paired with the place that has its largest weight.",
        draw_clear_rows,
        pairs,
        weight=4,
    ),
    Part(
        "ties",
        "Of several equal largest weights the leftmost counts.",
        draw_ties,
        pairs,
        weight=2,
    ),
    Part(
        "threshold",
        "Rows whose largest weight is below the threshold are left out.",
        draw_thresholds,
        pairs,
        weight=2.5,
    ),
    Part("sizes", "Any number of rows and places will do, even no row.", draw_sizes, pairs),
    Part(
        "form",
        "The result is a list of tuples of two int.",
        draw_clear_rows,
        form,
        _form,
        weight=0.5,
    ),
    nothing_else_changes(
        "Weights with a graph, in any order in memory, are read and not changed.",
        draw_all,
        read_twice,
        agree(exact_dtype=True),
        says=(
            "another order in memory or a second call gives something else, or the weights change",
            "the call changes the weights",
            "the call changes whether the weights have a gradient",
        ),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(weights, threshold):
    """The answer that the mistakes start from."""
    found = []
    for t, row in enumerate(weights.tolist()):
        best = max(row)
        if best >= threshold:
            found.append((t, row.index(best)))
    return found


@mistake(
    hint="You look for the best row of each column. The task is the other way round: for each "
    "row, that is, for each target place, find the best source place.",
    keeps=0.3,
)
def by_columns(weights, threshold):
    """Each source place gets its best target place."""
    found = []
    for s, column in enumerate(weights.T.tolist()):
        best = max(column, default=0.0)
        if best >= threshold:
            found.append((column.index(best), s))
    return found


@mistake(
    hint="You let each source place be taken only once. Two words may well translate the same "
    "word, so rows do not compete with each other."
)
def one_to_one(weights, threshold):
    """Each source place is given away once only."""
    found, taken = [], set()
    for t, row in enumerate(weights.tolist()):
        free = [s for s in range(len(row)) if s not in taken]
        best = max((row[s] for s in free), default=0.0)
        if free and best >= threshold:
            place = next(s for s in free if row[s] == best)
            taken.add(place)
            found.append((t, place))
    return found


@mistake(
    hint="You pair a row with the index of the largest weight in the whole table. Each row has a "
    "largest weight of its own: say along which axis."
)
def over_the_whole_table(weights, threshold):
    """The largest weight of the whole table is looked for."""
    if not weights.numel():
        return []
    place = int(weights.argmax())
    best = divmod(place, weights.shape[1])
    return [best] if weights.max() >= threshold else []


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Of equal weights the last one counts.",
        replace={"row.index(best)": "len(row) - 1 - row[::-1].index(best)"},
        hint="Where several weights are the largest, you take the last of them. The contract asks "
        "for the leftmost.",
    ),
    mistake(
        "All of several equal weights count.",
        replace={
            "found.append((t, row.index(best)))": (
                "found += [(t, s) for s, w in enumerate(row) if w == best]"
            ),
        },
        hint="Where several weights are the largest, you return a pair for each of them. Each row "
        "has one pair at most, with the leftmost.",
    ),
    mistake(
        "A row with two equal largest weights is left out.",
        replace={"if best >= threshold": "if best >= threshold and row.count(best) == 1"},
        hint="You leave out rows in which two weights are the largest. They have a pair too: the "
        "leftmost of the places.",
    ),
    mistake(
        "A weight that equals the threshold is too small.",
        replace={"best >= threshold": "best > threshold"},
        hint="You leave out rows whose largest weight is exactly the threshold. It says how much "
        "is enough, so equal is enough.",
    ),
    mistake(
        "The threshold is not used.",
        replace={"if best >= threshold": "if True"},
        hint="You return a pair for every row. A row without any weight of at least the threshold "
        "looks everywhere and nowhere: leave it out.",
    ),
    mistake(
        "All weights from the threshold on make a pair.",
        replace={
            "found.append((t, row.index(best)))": (
                "found += [(t, s) for s, w in enumerate(row) if w >= threshold]"
            ),
        },
        hint="You return every place whose weight reaches the threshold. Each row is paired with "
        "its best place only.",
    ),
    mistake(
        "The pairs are turned round.",
        replace={"(t, row.index(best))": "(row.index(best), t)"},
        hint="Your pairs begin with the source place. The row comes first, then the place that it "
        "looks at.",
        keeps=0.5,
    ),
    mistake(
        "Places are counted from 1.",
        replace={"(t, row.index(best))": "(t + 1, row.index(best) + 1)"},
        hint="You count rows and places from 1. Like all indices of a tensor they begin with 0.",
        keeps=0.5,
    ),
    mistake(
        "Rows are numbered among those that are kept.",
        replace={"(t, row.index(best))": "(len(found), row.index(best))"},
        hint="After a row that is left out, your row numbers are too small. Each pair names the "
        "row as it is numbered in the weights.",
    ),
    mistake(
        "The search ends at the first row below the threshold.",
        replace={
            "if best >= threshold:\n    found.append((t, row.index(best)))": (
                "if best < threshold:\n    break\nfound.append((t, row.index(best)))"
            ),
        },
        hint="You stop at the first row that is below the threshold. Leave it out, and go on with "
        "the next one.",
    ),
    mistake(
        "A row that is left out gets a pair with -1.",
        replace={
            "if best >= threshold:\n    found.append((t, row.index(best)))": (
                "place = row.index(best)\nfound.append((t, place if best >= threshold else -1))"
            ),
        },
        hint="You return a pair with -1 for a row below the threshold. Such a row has no pair at "
        "all.",
    ),
    mistake(
        "The smallest weight is looked for.",
        replace={"max(row)": "min(row)", "best >= threshold": "max(row) >= threshold"},
        hint="You look for the smallest weight of each row. The larger a weight is, the more is "
        "read there.",
        keeps=0.3,
    ),
    mistake(
        "The numbers are tensors, not ints.",
        replace={"(t, row.index(best))": "(t, torch.tensor(row.index(best)))"},
        hint="Your places are tensors of one number. They look alike when printed, but the "
        "contract asks for int: tolist() or int() makes them.",
    ),
    mistake(
        "Only the places are returned, without their rows.",
        replace={"found.append((t, row.index(best)))": "found.append(row.index(best))"},
        hint="You return source places only. As rows may be left out, nobody could tell which row "
        "each belongs to: return pairs.",
        keeps=0.3,
    ),
    by_columns,
    one_to_one,
    over_the_whole_table,
)

CHECK = Check(
    item="ps4_align",
    points=8,
    target="align",
    reference=align,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
