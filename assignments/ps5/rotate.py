"""The task "rotary positions"."""

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.layers.positions import RotaryPositions

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Generator,
    call,
    differentiate,
    judge_by,
    keeps,
    near_part,
    normal,
    tensor_case,
)
from .inputs import shape_text

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*rows T K; T; -", empty="rows")


def _case(
    rng: Generator,
    shape: tuple[int, ...],
    positions: Tensor,
    dtype: str = "float64",
    *,
    base: float = 10_000.0,
    what: str = "",
) -> Case:
    arguments = [normal(rng, dtype, *shape), positions, base]
    label = f"x of shape {shape_text(shape)}{what}, base {base:g}"
    return tensor_case(label, dtype, *arguments)


def draw_turns(rng: Generator) -> list[Case]:
    """Positions from 0 on; one pair or several, two axes to four."""
    return [
        _case(rng, (2, 2), torch.arange(2)),
        _case(rng, (5, 6), torch.arange(5)),
        _case(rng, (2, 3, 7, 4), torch.arange(7)),
        _case(rng, (3, 5, 10), torch.arange(5), "float32"),
        _case(rng, (2, 4, 9, 34), torch.arange(9), "float32"),
        _case(rng, (4, 4, 4, 4), torch.arange(4)),
    ]


def draw_bases(rng: Generator) -> list[Case]:
    """Other bases, of models for shorter and for longer texts."""
    return [
        _case(rng, (2, 6, 4), torch.arange(6), base=100.0),
        _case(rng, (2, 3, 6), torch.arange(3), base=2.5),
        _case(rng, (3, 5, 10), torch.arange(5), "float32", base=500.0),
        _case(rng, (1, 2, 7, 6), torch.arange(7) + 30, "float32", base=500_000.0),
    ]


def draw_any_positions(rng: Generator) -> list[Case]:
    """Positions that do not start at 0, repeat, or stand in any order; one."""
    drawn = torch.from_numpy(rng.permutation(60)[:6].copy()) + 3
    cached, packed = torch.tensor([11, 12, 13]), torch.tensor([0, 1, 0, 1, 2])
    return [
        _case(rng, (1, 6), torch.tensor([7]), what=" at position 7"),
        _case(rng, (2, 3, 6), cached, what=" at positions 11 to 13"),
        _case(rng, (5, 4), packed, what=" at positions 0, 1, 0, 1, 2"),
        _case(rng, (2, 3, 6, 8), drawn, "float32", what=" at positions in any order"),
        _case(rng, (2, 2, 3, 5, 6), packed + 2, what=" at positions 2, 3, 2, 3, 4"),
        *CONTRACT.forms(lambda rng: draw_turns(rng)[2:4])(rng),
    ]


def draw_late_positions(rng: Generator) -> list[Case]:
    """Late positions; in half precision, in which they could not be told apart."""
    late, middle = torch.tensor([2049, 4095, 7777, 9999]), torch.tensor([257, 1001, 2047, 4001])
    # Half of each pair is 0: what cancels is off by a share of 1e10, which is not forgiven.
    large = _case(rng, (3, 4, 6), torch.arange(4), "bfloat16", what=" near 1e10")
    large.inputs["arguments"][0][..., 3:] = 0
    large.inputs["arguments"][0].mul_(1e10)
    return [
        _case(rng, (2, 4, 6), late, "float32", what=" at late positions"),
        _case(rng, (3, 4, 6), middle, "bfloat16", what=" at positions up to 4001"),
        _case(rng, (3, 4, 6), middle + 2048, "float16", what=" at positions up to 6049"),
        large,
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary ones."""
    return draw_turns(rng)[1:4]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy."""
    return draw_turns(rng)[1:]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_bases(rng), *draw_any_positions(rng)[:5], *draw_late_positions(rng)]


def draw_distances(rng: Generator) -> list[Case]:
    """Queries and keys, and how far both are moved."""
    cases = []
    for n, width, moves, dtype in [
        (4, 2, [1, 3], "float64"),
        (5, 6, [2, 9], "float64"),
        (3, 10, [5, 40], "float32"),
        (4, 34, [7, 333], "float32"),
    ]:
        inputs = {
            "query": normal(rng, dtype, n, width),
            "key": normal(rng, dtype, n, width),
            "moves": moves,
            "dtype": dtype,
        }
        cases.append(Case(f"{n} queries and keys of width {width}, {dtype}", inputs))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def compare_distances(implementation, inputs):
    """Return whether scores stay where all move, whether lengths stay, and whether distance counts.

    All three are asked of rows that stand at one position, one after the other.
    """
    import torch

    query, key = inputs["query"], inputs["key"]
    start = torch.arange(len(query))
    close = {"rtol": 1e-3, "atol": 1e-3}

    def scores(queries_at, keys_at):
        queries = implementation(query.clone(), queries_at, 10000.0).double()
        return queries @ implementation(key.clone(), keys_at, 10000.0).double().mT

    before = scores(start, start)
    stays = [
        torch.allclose(scores(start + move, start + move), before, **close)
        for move in inputs["moves"]
    ]
    lengths = implementation(query.clone(), start + 3, 10000.0).double().norm(dim=-1)
    keeps_lengths = torch.allclose(lengths, query.double().norm(dim=-1), **close)
    counts = not torch.allclose(scores(start + 1, start), before, **close)
    return stays, keeps_lengths, counts, tuple(before.shape)


# -- the reference version -------------------------------------------------------------------------


def rotate(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Ask the package for the angles of all positions up to the last, and look them up."""
    rotary = RotaryPositions(x.shape[-1], base)
    end = int(positions.max()) + 1 if positions.numel() else 1
    rows = x.flatten(0, -3) if x.dim() > 2 else x.unsqueeze(0)
    return rotary.rotate(rows.unsqueeze(1), rotary.rotation(end)[:, positions]).reshape(x.shape)


# -- parts -----------------------------------------------------------------------------------------

# An angle of float32 is right up to some rounding of the position itself.
_early = judge_by(rtol=1e-4, atol=1e-4)
_half = judge_by(rtol=0.02, atol=0.08)  # three roundings of numbers up to 4

PARTS = (
    near_part(
        "values",
        "Entries i and i + K/2 are turned by the position times base^(-2i/K).",
        draw_turns,
        call,
        6,
        _early,
    ),
    near_part(
        "bases",
        "The base is the one that is given.",
        draw_bases,
        call,
        1,
        _early,
    ),
    near_part(
        "any positions",
        "Each row is turned by its own position, in whatever order they come, below any axes.",
        draw_any_positions,
        call,
        2,
        _early,
    ),
    near_part(
        "distances",
        "Lengths stay, and scores depend on the distance of two positions alone.",
        draw_distances,
        compare_distances,
        2,
        saying(
            "where all positions move by the same, scores become others, or nan",
            "the length of a vector becomes another, or nan",
            "where queries move and keys stay, the scores stay as they were",
            "the shape of the result is another",
        ),
    ),
    near_part(
        "late positions",
        "Late positions are right, also where x is in half precision.",
        draw_late_positions,
        call,
        1,
        _half,
    ),
    near_part("gradients", FLOWS, draw_for_gradients, differentiate, 1, _early),
    *keeps(
        draw_ordinary,
        draw_hard_cases,
        double={"rtol": 0, "atol": 1e-5},
        single={"rtol": 0, "atol": 1e-4},
    ),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_turns(rng)[2:3], "rows 2", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, positions, base):
    """The answer that the mistakes start from."""
    half = x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, dtype=torch.float32) / half)
    angles = positions.to(torch.float32).unsqueeze(-1) * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    both = [first * cos - second * sin, second * cos + first * sin]
    return torch.cat(both, dim=-1)


@mistake(
    hint="Your result is right, but it is made piece by piece, in a loop. The table of angles has "
    "one row for each position: multiply all of x by it at once."
)
def position_by_position(x, positions, base):
    """The positions are turned in a loop."""
    half = x.shape[-1] // 2
    rows = []
    for place, position in enumerate(positions.tolist()):
        angles = position * base ** -(torch.arange(half, dtype=torch.float32) / half)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., place, :half], x[..., place, half:]
        rows.append(torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1))
    return torch.stack(rows, dim=-2)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Neighbouring entries are paired.",
        replace={
            "x[..., :half], x[..., half:]": "x[..., 0::2], x[..., 1::2]",
            "torch.cat(both, dim=-1)": "torch.stack(both, dim=-1).flatten(-2)",
        },
        hint="You pair the entries 2i and 2i + 1, as the paper does. Here entry i is paired with "
        "entry i + K/2. Both keep the scores, but weights trained with one need that one.",
        keeps=0.5,
    ),
    mistake(
        "The turn goes the other way.",
        replace={"angles.sin()": "(-angles).sin()"},
        hint="You turn by the negative angle. The first entry of a pair becomes a cos - b sin, and "
        "the second b cos + a sin: where do your signs differ?",
        keeps=0.5,
    ),
    mistake(
        "Both entries are computed with a minus, so that nothing is turned.",
        replace={"second * cos + first * sin": "second * cos - first * sin"},
        hint="Both of your signs are minus. Then lengths change, and it is no turn: the first "
        "entry is a cos - b sin, the second b cos *plus* a sin.",
        keeps=0.3,
    ),
    mistake(
        "Both entries are computed with a plus, so that nothing is turned.",
        replace={"first * cos - second * sin": "first * cos + second * sin"},
        hint="Both of your signs are plus: the half that comes from the right must be negated "
        "before it is multiplied by the sine. Else lengths change, and it is no turn.",
        keeps=0.3,
    ),
    mistake(
        "The second entry is computed from the first one's new value.",
        replace={
            "both = [first * cos - second * sin, second * cos + first * sin]": """
                first = first * cos - second * sin
                both = [first, second * cos + first * sin]
            """
        },
        hint="You overwrite the first half and then use its new value for the second. Both new "
        "halves are made of both old ones: keep the old first half until the end.",
        keeps=0.5,
    ),
    mistake(
        "The exponent grows half as fast.",
        replace={"dtype=torch.float32) / half": "dtype=torch.float32) / (2 * half)"},
        hint="Your exponents end near one half. Pair i turns by base^(-2i/K): i over K/2, and not "
        "i over K. So your slow pairs are far too fast.",
        keeps=0.5,
    ),
    mistake(
        "All pairs turn at the same speed.",
        replace={"unsqueeze(-1) * frequencies": "unsqueeze(-1) * torch.ones_like(frequencies)"},
        hint="All your pairs turn by the same angle. Each pair has its own frequency, "
        "base^(-2i/K): the first is the fastest.",
    ),
    mistake(
        "Frequencies grow from pair to pair.",
        replace={"base ** -(": "base ** ("},
        hint="Your later pairs turn faster. The exponent is negative: the first pair turns by one "
        "radian a position, and all others more slowly.",
        keeps=0.5,
    ),
    mistake(
        "The base is 10000, whatever was given.",
        replace={"base ** -(": "10_000.0 ** -("},
        hint="Your angles are those of the base 10000 in every call. The caller names the base, "
        "and models for long texts have a larger one: use the argument each time.",
    ),
    mistake(
        "The positions are counted anew from 0, whatever was given.",
        replace={"positions.to(": "torch.arange(len(positions)).to("},
        hint="Your rows are turned as if they were at 0, 1, 2 and so on, whatever `positions` "
        "says. With a cache, new rows are at later positions: turn each by the one that you are "
        "given.",
    ),
    mistake(
        "Positions are counted from one.",
        replace={"positions.to(": "(positions + 1).to("},
        hint="You turn every row by one position too many. Positions count from 0, where nothing "
        "is turned. No score notices it: why?",
        keeps=0.5,
    ),
    mistake(
        "The angles repeat each number twice, but entries are paired by halves.",
        replace={
            "cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)": """
                wide = angles.repeat_interleave(2, dim=-1)
                cos, sin = wide.cos().to(x.dtype), wide.sin().to(x.dtype)
            """,
            "both = [first * cos - second * sin, second * cos + first * sin]": "",
            "torch.cat(both, dim=-1)": "x * cos + torch.cat([-second, first], dim=-1) * sin",
        },
        hint="You repeat each angle side by side, which fits neighbours, but pair the entries by "
        "halves. The table of angles has to be laid out like the pairs: half beside half.",
        keeps=0.3,
    ),
    mistake(
        "The positions run along the first axis but one that is found from the left.",
        replace={"torch.float32).unsqueeze(-1) *": "torch.float32).reshape(-1, 1, 1) *"},
        hint="Your angles stand beside the wrong axis of x. The positions are its last axis but "
        "one, whatever comes before: a table of shape (T, K/2) meets it by itself.",
    ),
    mistake(
        "The angles are computed in the dtype of x.",
        replace={
            "torch.arange(half, dtype=torch.float32)": "torch.arange(half).to(x.dtype)",
            "positions.to(torch.float32)": "positions.to(x.dtype)",
        },
        hint="In half precision your late positions are wrong: bfloat16 cannot tell 257 from 256. "
        "Compute angles, sines and cosines in float32; only then go over to the dtype of x.",
    ),
    mistake(
        "The result takes the dtype of the angles.",
        replace={
            "angles.cos().to(x.dtype), angles.sin().to(x.dtype)": "angles.cos(), angles.sin()"
        },
        hint="Where x is in half precision, your result is float32, for the cosines are. Turn "
        "sines and cosines into the dtype of x before you multiply.",
    ),
    mistake(
        "The halves of x are overwritten.",
        replace={
            "return torch.cat(both, dim=-1)": """
                with torch.no_grad():
                    x.copy_(torch.cat(both, dim=-1))
                return torch.cat(both, dim=-1)
            """
        },
        hint="The result is right, but you have written it into the caller's x. The queries and "
        "keys before the turn are still needed: make a new tensor.",
    ),
    mistake(
        "No gradient flows back through the turn.",
        replace={"x[..., :half], x[..., half:]": "x.detach()[..., :half], x.detach()[..., half:]"},
        hint="The values are right, but no gradient reaches x, so queries and keys could not "
        "learn. Only the angles are constants: do not detach x.",
    ),
    position_by_position,
)

CHECK = Check(
    item="ps5_rotate",
    points=11,
    target="rotate",
    reference=rotate,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "half = x.shape[-1] // 2  →  half = x.shape[-1] / 2": (
            "K is even, and `arange` takes a float too."
        ),
        "angles = positions.to(torch.float32).unsqueeze(-1) * frequencies  →  angles = "
        "positions.to(torch.float32).unsqueeze(1) * frequencies": (
            "Positions have one axis, so the new one is the second and the last."
        ),
    },
)
