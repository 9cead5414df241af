"""The open challenge of problem set 2: learn the same merges in the least CPU time."""

from dataclasses import replace

from autograder.authoring.checks import Case, Challenge, Part

from . import learn_merges
from .inputs import Generator, draw_letters

_N_WORDS, _N_MERGES = 5_000, 400


def draw_vocabulary(rng: Generator) -> list[Case]:
    """A vocabulary as large as that of a small library; few letters, so that pairs pile up."""
    spelled = {draw_letters(rng, "etaoinshrdlu", rng.integers(4, 12)) for _ in range(_N_WORDS)}
    # Counts as of real text: the word of rank r occurs about 1/r as often as the first.
    words = {word.encode(): 1 + 20_000 // rank for rank, word in enumerate(sorted(spelled), 1)}
    inputs = {"words": words, "n_tokens": 256 + _N_MERGES, "min_count": 2}
    return [Case("a large vocabulary", inputs)]


CHALLENGE = Challenge(
    task=f"Learn {_N_MERGES} merges from a vocabulary of about {_N_WORDS:,} words, id for id those "
    "of the plain algorithm.",
    check=replace(
        learn_merges.CHECK,
        item="ps2_challenge",
        target="fast_learn_merges",
        parts=(
            *learn_merges.PARTS,
            Part("large", "The merges are right.", draw_vocabulary, learn_merges.learn),
        ),
        mistakes=(),
        seconds=20.0,
    ),
    to_beat="all pairs counted anew",
)
