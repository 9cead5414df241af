"""The task "draw a token"."""

import random
from collections.abc import Mapping

import numpy as np

from autograder.authoring.checks import (
    Case,
    Check,
    Part,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)

from .inputs import (
    Generator,
    Token,
    alphabet,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_lines(rng: Generator) -> list[Case]:
    """Distributions, and places well inside their pieces."""
    cases = []
    for kind, size in [("words", 2), ("numbers", 5), ("pairs", 9), ("ids", 60), ("alike", 8)]:
        tokens, eos = alphabet(kind, size - 1)
        shares = rng.dirichlet(np.ones(size)).tolist()
        ends = np.cumsum(shares)
        starts = ends - shares
        inside = rng.uniform(0.05, 0.95, size)
        us = (starts + inside * (ends - starts)).tolist()
        probs = list(zip([*tokens, eos], shares, strict=True))
        order = rng.permutation(size).tolist()
        inputs = {"probs": probs, "us": [us[i] for i in order]}
        cases.append(Case(f"{counted(size, 'token')} that are {kind}", inputs))
    equal = [(token, 0.25) for token in [*alphabet("words", 3)[0], "<eos>"]]
    cases.append(Case("equal probabilities", {"probs": equal, "us": [0.1, 0.3, 0.6, 0.9]}))
    return [*cases, Case("a single token", {"probs": [(0, 1.0)], "us": [0.5, 0.0, 1 - 2**-53]})]


def draw_boundary_lines(rng: Generator) -> list[Case]:
    """Places at the ends of pieces whose lengths are exact in binary, some of length 0."""
    cases = []
    for kind, eighths in [("words", [3, 1, 4]), ("numbers", [0, 2, 0, 5, 1, 0])]:
        tokens, _ = alphabet(kind, len(eighths))
        order = rng.permutation(len(eighths)) if kind == "numbers" else range(len(eighths))
        shares = [eighths[i] / 8 for i in order]
        us = [0.0, *(np.cumsum(shares)[np.cumsum(shares) < 1].tolist())]
        inputs = {"probs": list(zip(tokens, shares, strict=True)), "us": [0.97, *us]}
        cases.append(Case(f"{len(eighths)} tokens, u at the end of a piece", inputs))
    # The smallest float that there is owns the place 0, and nothing else.
    tiny = [("none", 0.0), ("tiny", 5e-324), ("half", 0.5), ("rest", 0.5), ("last", 0.0)]
    us = [0.0, 1e-300, 0.25, 0.5, 1 - 2**-53]
    return [*cases, Case("a piece of the smallest length", {"probs": tiny, "us": us})]


def draw_uneven_lines(rng: Generator) -> list[Case]:
    """Sums a rounding error below 1, places beyond them, and a last piece of length 0."""
    cases = []
    for drawn in (np.array([0.7, 0.1, 0.2]), rng.dirichlet(np.ones(7))):
        size = len(drawn)
        tokens, eos = alphabet("words", size)
        shares = (drawn * (1 - 1e-10)).tolist()
        middles = (np.cumsum(shares) - np.array(shares) / 2).tolist()
        probs = [*zip(tokens, shares, strict=True), (eos, 0.0)]
        inputs = {"probs": probs, "us": [1 - 1e-13, *middles]}
        cases.append(Case(f"{size + 1} tokens, u beyond the sum", inputs))
    # Where the sum is a little below 1, no piece is stretched: 0.5 is still the border.
    halves = [("left", 0.5), ("right", 0.5 - 1e-10), ("never", 0.0)]
    inputs = {"probs": halves, "us": [0.5, 0.5 - 2e-11, 1 - 2e-10, 1 - 2e-11]}
    cases.append(Case("a border in the middle of the line", inputs))
    for last, other in ((0, 1), ("", "a")):  # what counts as false in Python is a token, too
        ends = [(other, 0.5), (last, 0.5 - 1e-10), (2 * other, 0.0)]
        inputs = {"probs": ends, "us": [0.1, 0.7, 1 - 1e-11]}
        cases.append(Case(f"u beyond the sum, the last token {last!r}", inputs))
    return cases


def draw_all_lines(rng: Generator) -> list[Case]:
    """Lines of all kinds."""
    return [*draw_lines(rng), *draw_boundary_lines(rng), *draw_uneven_lines(rng)]


# -- probes ----------------------------------------------------------------------------------------


def draw(implementation, inputs):
    """Return the token at each place."""
    probs = dict(inputs["probs"])
    drawn = [implementation(probs, u) for u in inputs["us"]]
    return [getattr(token, "item", lambda token=token: token)() for token in drawn]


def draw_alone(implementation, inputs):
    """Return what is drawn, and what became of the distribution."""
    probs, plain = dict(inputs["probs"]), []
    for u in inputs["us"] * 2:
        try:
            token = implementation(probs, u)
            plain.append(getattr(token, "item", lambda token=token: token)())
        except Exception:
            plain.append(None)  # whether there is a result is the business of other parts
    return plain, list(probs.items())


# -- the reference version -------------------------------------------------------------------------


def sample(probs: Mapping[Token, float], u: float) -> Token:
    """Invert the cumulative distribution with NumPy's binary search."""
    tokens = [token for token, prob in probs.items() if prob > 0]
    ends = np.cumsum([probs[token] for token in tokens])
    return tokens[min(int(np.searchsorted(ends, u, side="right")), len(tokens) - 1)]


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "The token that owns the place u is drawn.",
        draw_lines,
        draw,
        weight=6,
    ),
    Part(
        "ends",
        "Each piece owns its left end only, and a token of probability 0 owns nothing.",
        draw_boundary_lines,
        draw,
        weight=2,
    ),
    Part(
        "rounding",
        "Where rounding leaves the sum below u, the last possible token is drawn.",
        draw_uneven_lines,
        draw,
    ),
    nothing_else_changes(
        "The answer depends on the arguments only; no random generator is asked.",
        draw_all_lines,
        draw_alone,
        says=("the call changes the distribution",),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(probs, u):
    """The answer that the mistakes start from."""
    total = 0.0
    for token, prob in probs.items():
        total += prob
        if total > u:
            return token
    return [token for token in probs if probs[token] > 0][-1]


@mistake(
    hint="You always take the most probable token. That is greedy choice, not drawing: u has no "
    "influence. Each token must own a piece of the line.",
)
def sample_the_best(probs, u):
    """The most probable token is taken every time."""
    return max(probs, key=probs.get)


@mistake(
    hint="Your pieces all have the same length. A token's piece should be as long as its "
    "probability.",
)
def sample_uniformly(probs, u):
    """All tokens get pieces of the same length."""
    tokens = [token for token in probs if probs[token] > 0]
    return tokens[int(u * len(tokens))]


@mistake(
    hint="The chance is already in u. If the function asks a random generator as well, nobody can "
    "repeat what it did. Use u instead.",
)
def sample_own_chance(probs, u):
    """A random generator is used, and u is ignored."""
    return random.choices(list(probs), weights=list(probs.values()))[0]


MISTAKES = mistakes(
    right_answer,
    sample_the_best,
    mistake(
        "A piece owns its right end instead of its left.",
        replace={"total > u": "total >= u"},
        hint="Look at your comparison where u falls exactly on the border of two pieces. There "
        "the next token must win. With u = 0, a token of probability 0 must not.",
    ),
    mistake(
        "Each probability is compared with u by itself.",
        replace={"total += prob": "total = prob"},
        hint="You compare u with each probability alone. But a piece begins where the one before "
        "it ended. What do you have to keep while you walk along the line?",
    ),
    sample_uniformly,
    mistake(
        "The pieces are sorted by length.",
        replace={
            "total = 0.0": (
                "total, probs = 0.0, dict(sorted(probs.items(), key=lambda item: -item[1]))"
            ),
        },
        hint="You sort the tokens first. The contract asks for the order of the dictionary; so "
        "the same u must lead to the same token for everyone.",
    ),
    mistake(
        "The number of the token is returned instead of the token.",
        replace={
            "probs.items()": "enumerate(probs.values())",
            "[token for token in probs if probs[token] > 0][-1]": "len(probs) - 1",
        },
        hint="You find the right piece, but return its number. The caller wants its owner, the "
        "token.",
        keeps=0.5,
    ),
    mistake(
        "Nothing is returned where rounding leaves the sum below u.",
        replace={"return [token for token in probs if probs[token] > 0][-1]": ""},
        hint="Add ten times 0.1 on a computer: it is not quite 1. If u lies beyond the sum, your "
        "loop ends without a return. Look at what happens after it.",
    ),
    mistake(
        "Beyond the sum the last token is returned, even if its probability is 0.",
        replace={"[token for token in probs if probs[token] > 0][-1]": "token"},
        hint="After the loop you return the last token. That may be one of probability 0, which "
        "must never be drawn. Remember the last token that owned anything.",
    ),
    sample_own_chance,
    mistake(
        "The line is walked from its right end.",
        replace={"probs.items()": "reversed(probs.items())", "[-1]": "[0]"},
        hint="You lay the pieces on the line from the other end. The first token of the "
        "dictionary begins at 0.",
        keeps=0.5,
    ),
)

CHECK = Check(
    item="ps1_sample",
    points=10,
    target="sample",
    reference=sample,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "last = None  →  pass": "Some probability is above 0, so the loop always sets `last`.",
    },
)
