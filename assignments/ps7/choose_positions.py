"""The task "which positions to hide"."""

from collections.abc import Collection

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.text.batches.masking import may_mask

from ..contracts import Contract
from ..token_ids import Generator, case, draw_ids, dtype_part, keeps, layout_part, part

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T; B T; -; -", empty="B T")


def _case(
    rng: Generator,
    rows: list[str],
    rate: float,
    special_ids: Collection[int],
    *,
    what: str = "",
    dtype: torch.dtype = torch.float32,
    ordinary: tuple[int, ...] = (),
) -> Case:
    """Fill a pattern: small letters are ordinary ids, capitals special ones, each in its turn.

    A draw is below the rate (b), equal to it (e), above it (a), just below (m), just above (n),
    or 0 (z).
    """
    specials = list(special_ids)
    pool = ordinary or tuple(range(40, 70))
    shape = len(rows), len(rows[0])
    ids = draw_ids(rng, shape, pool)
    draws = torch.zeros(shape, dtype=torch.float64)
    n_specials = 0
    for row, letters in enumerate(rows):
        for t, letter in enumerate(letters):
            if letter.isupper():
                ids[row, t] = specials[n_specials % len(specials)]
                n_specials += 1
            share = 0.1 + 0.8 * rng.random()
            heights = {"b": rate * share, "e": rate, "a": rate + (1 - rate) * share, "z": 0.0}
            heights |= {"m": rate - 0.001, "n": rate + 0.001}
            draws[row, t] = heights[letter.lower()]
    label = f"{shape[0]} by {shape[1]}{what}, rate {rate:g}"
    return case(label, ids, draws.to(dtype), rate, special_ids)


def draw_values(rng: Generator) -> list[Case]:
    """Some positions below the rate and some above, ordinary and special."""
    long = ["BababaaaAbaaBbaA", "AabbaaabBaabbaaB", "BbbaaaaBAbaabbaA"]
    return [
        _case(rng, ["BabaA"], 0.15, [1, 0]),
        _case(rng, ["BbaaB", "AbbBa"], 0.15, [3, 1, 9]),
        _case(rng, long, 0.15, [7, 0, 99], dtype=torch.float64),
        _case(rng, long[::-1], 0.15, [4, 5, 28], what=", other special ids"),
    ]


def draw_specials(rng: Generator) -> list[Case]:
    """Special ids of every kind, in every container."""
    rows = ["BbaBbAbb", "bBabBBab"]
    plain = ["babbab", "ababab"]
    return [
        _case(rng, rows, 0.15, (6,), what=", one special id, a tuple"),
        _case(rng, rows, 0.15, {11, 4}, what=", a set"),
        _case(rng, plain, 0.15, [], what=", no special ids", ordinary=(0, 1, 2, 3)),
        _case(rng, plain, 0.15, set(), what=", an empty set", ordinary=(0, 4)),
        _case(rng, plain, 0.15, (), what=", an empty tuple", ordinary=(0, 1)),
        _case(rng, rows, 0.15, [30521, 0, 100], what=", special ids far apart"),
        _case(rng, rows, 0.15, [9, 5], what=", ids between the special ones", ordinary=(6, 7, 8)),
        _case(rng, rows, 0.15, [5], what=", 0 and 1 are ordinary", ordinary=(0, 1)),
        # Ids that are the same in 8 or 16 bits, or as numbers of float32.
        _case(rng, rows, 0.15, [3, 2**24 + 1], what=", large ids", ordinary=(259, 65539, 2**24)),
        _case(rng, ["babbab"], 0.15, [90, 91], what=", special ids that do not occur"),
        _case(
            rng, ["bbabbbabBb"], 0.15, list(range(100, 140)), what=", 40 of them", ordinary=(1, 2)
        ),
        _case(rng, ["BZAB", "ZBBA"], 0.15, [8, 2], what=", nothing but special tokens"),
    ]


def draw_borders(rng: Generator) -> list[Case]:
    """Draws that equal the rate; rates of 0 and 1."""
    hairs = 0.25 + torch.tensor([[-1, 1, -1, 0, 1]], dtype=torch.float64) * 2**-40
    return [
        case("draws a hair from the rate", torch.arange(3, 8).unsqueeze(0), hairs, 0.25, [1]),
        _case(rng, ["beaEbe"], 0.25, [7], what=", draws that equal the rate"),
        _case(
            rng, ["ebae", "EabB"], 0.5, [7, 0], what=", draws that equal it", dtype=torch.float64
        ),
        _case(rng, ["mnbN", "nmMa"], 0.155, [7], what=", draws near the rate"),
        _case(rng, ["zzaZ", "azzA"], 0.0, [3], what=", draws of 0"),
        _case(rng, ["bzBb", "bBbz"], 1.0, [3], what=", all draws below"),
        _case(rng, ["zaZz", "azzB"], 0.125, [3], what=", draws of 0"),
    ]


def draw_layouts(rng: Generator) -> list[Case]:
    """Two batches, with special tokens."""
    rows = ["BabbA", "abBab"], ["bB", "Ab", "bb"]
    return [_case(rng, letters, 0.15, [1, 0]) for letters in rows]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    kinds = (draw_values, draw_specials, draw_borders)
    return [drawn for kind in kinds for drawn in kind(rng)[:3]]


# -- the reference version -------------------------------------------------------------------------


def choose_positions(
    ids: Tensor, draws: Tensor, rate: float, special_ids: Collection[int]
) -> Tensor:
    """Ask the package where a text may be masked, and compare the draws as it does."""
    return may_mask(ids, list(special_ids)) & (draws < rate)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "values",
        "A position is chosen where its draw is below the rate and no special token stands.",
        draw_values,
        6,
    ),
    part(
        "special ids",
        "Special is what is in special_ids, whatever its ids are, and nothing else.",
        draw_specials,
        2,
    ),
    part(
        "borders",
        "The rate is the one that is given, and a draw that equals it is not below it.",
        draw_borders,
        2,
    ),
    layout_part(draw_layouts, 1, CONTRACT),
    dtype_part(draw_all),
    keeps(draw_all),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[1:2], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, draws, rate, special_ids):
    """The answer that the mistakes start from."""
    is_special = torch.zeros_like(ids, dtype=torch.bool)
    for special in special_ids:
        is_special = is_special | (ids == special)
    is_low = draws < rate
    return is_low & ~is_special


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. A comparison of whole "
    "tensors gives True or False for every position at once."
)
def position_by_position(ids, draws, rate, special_ids):
    """The positions are looked at in a loop."""
    chosen = torch.zeros(ids.shape, dtype=torch.bool)
    for row in range(ids.shape[0]):
        for place in range(ids.shape[1]):
            is_special = int(ids[row, place]) in special_ids
            chosen[row, place] = not is_special and bool(draws[row, place] < rate)
    return chosen


@mistake(
    hint="You choose the same number of positions in every row, those with the smallest draws. "
    "Each position is chosen by itself: where its own draw is below the rate."
)
def fixed_number(ids, draws, rate, special_ids):
    """As many positions of each row are chosen as the rate says, those with the lowest draws."""
    is_special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    ranks = draws.masked_fill(is_special, 2.0).argsort(dim=1).argsort(dim=1)
    n = (rate * (~is_special).sum(dim=1, keepdim=True)).round()
    return (ranks < n) & ~is_special


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Special tokens are chosen like all others.",
        replace={"is_low & ~is_special": "is_low"},
        hint="You look at the draws alone, so that [SEP] or padding may be chosen. Positions with "
        "a special id must never be chosen, whatever they drew.",
    ),
    mistake(
        "A draw that equals the rate is chosen.",
        replace={"draws < rate": "draws <= rate"},
        hint="You also choose where the draw equals the rate. It has to be below it: else the rate "
        "0 would choose the positions that drew 0.",
    ),
    mistake(
        "The draws above the rate are chosen.",
        replace={"draws < rate": "draws > rate"},
        hint="You choose where the draw is above the rate, which is most of the text if the rate "
        "is small. Below the rate lies just the share that it names.",
        keeps=0.5,
    ),
    mistake(
        "Only special tokens are chosen.",
        replace={"~is_special": "is_special"},
        hint="Your mask is turned round: the positions that you choose are those of the special "
        "tokens, and these are the ones that must not be chosen.",
    ),
    mistake(
        "Only the first special id is kept out.",
        replace={"in special_ids": "in list(special_ids)[:1]"},
        hint="You keep out one of the special ids, but there may be several: [CLS], [SEP], padding "
        "and more. Your mask has to hold for each of them.",
        keeps=0.3,
    ),
    mistake(
        "All ids up to the largest special one count as special.",
        replace={
            """
            for special in special_ids:
                is_special = is_special | (ids == special)
            """: """
            if len(special_ids) > 0:
                is_special = ids <= max(special_ids)
            """
        },
        hint="You take every id up to the largest special one for special. Special ids may lie "
        "anywhere: look for these very ids, not for smaller ones.",
    ),
    mistake(
        "The id 0 always counts as special.",
        replace={"in special_ids": "in [0, *special_ids]"},
        hint="You never choose the id 0. It is padding in many vocabularies, but only special_ids "
        "says which ids are special here, and 0 need not be one of them.",
    ),
    mistake(
        "The rate is 15 %, whatever was given.",
        replace={"draws < rate": "draws < 0.15"},
        hint="You compare the draws with 0.15. That is the rate of BERT, but the caller names the "
        "rate: compare with the argument.",
    ),
    mistake(
        "A draw of 0 counts as no draw.",
        replace={"draws < rate": "(draws < rate) & (draws > 0)"},
        hint="You leave out positions that drew exactly 0. That is a draw like any other, and it "
        "is below every rate but 0.",
    ),
    mistake(
        "A column is special where the first row has a special token.",
        replace={"ids == special": "ids[:1] == special"},
        hint="You look for special tokens in the first row and use what you find for all rows. "
        "Every row has its own: compare the whole tensor of ids.",
    ),
    mistake(
        "The draws at special tokens are overwritten.",
        replace={"is_low = draws < rate": "is_low = draws.masked_fill_(is_special, 2.0) < rate"},
        hint="Your result is right, but the caller's draws have changed: something is written into "
        "them where special tokens stand. Make a new tensor.",
    ),
    fixed_number,
    position_by_position,
)

CHECK = Check(
    item="ps7_choose_positions",
    points=7,
    target="choose_positions",
    reference=choose_positions,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
