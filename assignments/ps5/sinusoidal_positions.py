"""The task "sinusoidal positions"."""

import math

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.layers.positions import SinusoidalPositions

from ..contracts import Contract
from ..tensors import Generator, call, judge_by, keeps, near_part, tensor_case

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*positions; -", empty="positions")


def _case(label: str, positions: Tensor, d_model: int) -> Case:
    return tensor_case(f"{label}, d_model {d_model}", "float32", positions, d_model)


def draw_first_positions(rng: Generator) -> list[Case]:
    """The positions of a text from its start."""
    sizes = [(2, 2), (5, 6), (3, 10), (7, 4), (21, 64)]
    return [_case(f"positions 0 to {n - 1}", torch.arange(n), d) for n, d in sizes]


def draw_any_positions(rng: Generator) -> list[Case]:
    """Positions in any order and shape: of a cache, of packed documents; one, none, a grid."""
    drawn = [torch.from_numpy(rng.permutation(60)[:n].copy()) for n in (3, 6, 12)]
    grid = _case("positions of shape (2, 3, 2)", drawn[2].reshape(2, 3, 2) + 1, 6)
    return [
        _case("one position, 4", torch.tensor([4]), 6),
        _case("positions 5, 5, 2, 0, 2", torch.tensor([5, 5, 2, 0, 2]), 8),
        _case("6 positions in any order", drawn[1] + 3, 10),
        _case("positions of shape (3, 1)", drawn[0].reshape(3, 1) + 2, 4),
        grid,
        _case("a position of shape ()", torch.tensor(int(rng.integers(2, 40))), 6),
        *CONTRACT.forms(lambda rng: [grid])(rng),
    ]


def draw_late_positions(rng: Generator) -> list[Case]:
    """Positions up to 10,000, where an angle in half precision is wrong by whole turns."""
    late = torch.tensor([511, 1023, 2049, 4095, 5001, 7777, 9999, 10_000])
    drawn = torch.from_numpy(rng.integers(3000, 10_000, 5))
    return [_case("late positions", late, 6), _case("other late positions", drawn, 34)]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy."""
    return draw_first_positions(rng)[1:4]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_any_positions(rng), *draw_late_positions(rng)]


# -- the reference version -------------------------------------------------------------------------


def sinusoidal_positions(positions: Tensor, d_model: int) -> Tensor:
    """Ask the package for all positions up to the last, and look the given ones up."""
    end = int(positions.max()) + 1 if positions.numel() else 1
    return SinusoidalPositions(d_model).waves(end)[positions]


# -- parts -----------------------------------------------------------------------------------------

# An angle of float32 is right up to some rounding of the position itself.
_early = judge_by(rtol=0, atol=5e-5)
_late = judge_by(rtol=0, atol=5e-3)

PARTS = (
    near_part(
        "values",
        "Columns 2i and 2i + 1 are sine and cosine of the position over 10000^(2i/D).",
        draw_first_positions,
        call,
        6,
        _early,
    ),
    near_part(
        "any positions",
        "Each of the given positions has its row, in whatever order and shape they come.",
        draw_any_positions,
        call,
        1.5,
        _early,
    ),
    near_part(
        "late positions",
        "Positions up to 10,000 are right to two digits.",
        draw_late_positions,
        call,
        1,
        _late,
    ),
    *keeps(
        draw_ordinary,
        draw_hard_cases,
        requirement="The result is float32, whatever torch's default dtype is.",
        single={"rtol": 0, "atol": 5e-5},
    ),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_any_positions(rng)[4:5], "positions")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(positions, d_model):
    """The answer that the mistakes start from."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    angles = positions.unsqueeze(-1).to(torch.float32) * 10_000.0**-exponents
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return waves.flatten(-2)


@mistake(
    hint="Your rows are right, but they are made piece by piece, in a loop. Let a column of "
    "positions meet a row of frequencies: broadcasting does the rest."
)
def position_by_position(positions, d_model):
    """The rows are made in a loop over the positions."""
    rows = []
    for position in positions.flatten().tolist():
        row = []
        for column in range(d_model):
            angle = position / 10_000 ** (column // 2 * 2 / d_model)
            row.append(math.cos(angle) if column % 2 else math.sin(angle))
        rows.append(row)
    table = torch.tensor(rows, dtype=torch.float32)
    return table.reshape(*positions.shape, d_model)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Sine and cosine are swapped.",
        replace={"[angles.sin(), angles.cos()]": "[angles.cos(), angles.sin()]"},
        hint="Your even columns are cosines. The sine comes first: so position 0 is the row "
        "0, 1, 0, 1, and not 1, 0, 1, 0.",
        keeps=0.5,
    ),
    mistake(
        "All sines stand first, then all cosines.",
        replace={"torch.stack": "torch.cat", "waves.flatten(-2)": "waves"},
        hint="You put all sines into the first half of the row and all cosines into the second. "
        "Here they take turns: sine, cosine, sine, cosine.",
        keeps=0.5,
    ),
    mistake(
        "Every column has a frequency of its own.",
        replace={
            "torch.arange(0, d_model, 2, dtype=torch.float32) / d_model": (
                "torch.arange(d_model, dtype=torch.float32) / d_model"
            ),
            "torch.stack([angles.sin(), angles.cos()], dim=-1)": (
                "torch.stack([angles[..., 0::2].sin(), angles[..., 1::2].cos()], dim=-1)"
            ),
        },
        hint="Your cosine has another frequency than the sine beside it. The two columns of a pair "
        "share one exponent, that of the even column: together they are a point that turns.",
        keeps=0.3,
    ),
    mistake(
        "The exponent grows half as fast: i over the width, where 2i is meant.",
        replace={"/ d_model": "/ (2 * d_model)"},
        hint="Your exponents end near one half. Pair number i has the exponent 2i/D: the number of "
        "its even column over the width. So the slowest wave is almost 10000 times slower.",
        keeps=0.5,
    ),
    mistake(
        "The exponents reach 1 at the last pair.",
        replace={"/ d_model": "/ max(d_model - 2, 1)"},
        hint="You spread the exponents from 0 to exactly 1. The formula divides by the width D "
        "itself, so the last exponent, (D - 2)/D, stays below 1.",
        keeps=0.5,
    ),
    mistake(
        "All frequencies are 1, by a whole-number division.",
        replace={") / d_model": ") // d_model"},
        hint="All your pairs turn at the same speed. Your exponents are all 0: is there a division "
        "that rounds down? Use `/`.",
    ),
    mistake(
        "Frequencies grow from pair to pair instead of falling.",
        replace={"**-exponents": "**exponents"},
        hint="You multiply the position by 10000^(2i/D). It is divided by it: the first pair is "
        "the fastest wave, and each that follows is slower.",
        keeps=0.5,
    ),
    mistake(
        "The base is 1000.",
        replace={"10_000.0": "1_000.0"},
        hint="Your waves are too fast: the base of your powers is 1000. Vaswani et al. use 10000, "
        "and weights trained with the one cannot be read with the other.",
        keeps=0.5,
    ),
    mistake(
        "The power of 10000 is used as the wavelength.",
        replace={"10_000.0**-exponents": "10_000.0**-exponents * (2 * math.pi)"},
        hint="You multiply by 2 pi, as if 10000^(2i/D) were the length of a wave. It is what the "
        "position is divided by; the wave is then 2 pi times as long.",
        keeps=0.5,
    ),
    mistake(
        "Positions are counted from one.",
        replace={"positions.unsqueeze(-1)": "(positions + 1).unsqueeze(-1)"},
        hint="Your rows are those of the next position: you add one. Positions count from 0, and "
        "the row of position 0 is 0, 1, 0, 1 and so on.",
        keeps=0.5,
    ),
    mistake(
        "The positions are counted anew from 0, whatever was given.",
        replace={
            "positions.unsqueeze(-1)": (
                "torch.arange(positions.numel()).reshape(positions.shape).unsqueeze(-1)"
            )
        },
        hint="Your rows are those of the positions 0, 1, 2 and so on, whatever is in "
        "`positions`. A text that goes on after others starts later: use the numbers that you are "
        "given.",
    ),
    mistake(
        "Only a row of positions is understood.",
        replace={"positions.unsqueeze(-1)": "positions.unsqueeze(1)"},
        hint="For a row of positions you are right. For a grid of them you put the new axis in the "
        "second place; it belongs at the end, whatever shape comes before it.",
    ),
    mistake(
        "The angles are computed in half precision.",
        replace={"positions.unsqueeze(-1).to(torch.float32)": "positions.unsqueeze(-1).half()"},
        hint="Near the start you are right; late positions are wrong. Half precision cannot tell "
        "neighbouring positions above 2048 apart: compute angles in float32 at least.",
    ),
    mistake(
        "The table is made in torch's default dtype.",
        replace={
            "dtype=torch.float32": "dtype=torch.get_default_dtype()",
            ".to(torch.float32)": "",
        },
        hint="Where torch's default dtype is float64, your result is float64, too. The contract "
        "asks for float32: name the dtype where you make a tensor.",
    ),
    mistake(
        "An axis is added to the caller's own tensor.",
        replace={"positions.unsqueeze(-1)": "positions.unsqueeze_(-1)"},
        hint="The result is right, but afterwards the caller's tensor has one axis more. An "
        "underscore at the end of a method's name means: in place. Use `unsqueeze`.",
    ),
    position_by_position,
)

CHECK = Check(
    item="ps5_sinusoidal_positions",
    points=10,
    target="sinusoidal_positions",
    reference=sinusoidal_positions,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
