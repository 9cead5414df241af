"""Inputs that several items of problem set 2 share, drawn afresh for every student.

Sizes are small, odd and different. Among the ids is 0, which an `if i` takes for nothing. Words
and texts are nonsense of few letters, so that pairs repeat and merges pile up; what is known to
break encoders (accents, emoji, loose bytes, spaces in a row) has cases of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

# -- inputs ----------------------------------------------------------------------------------------

Generator = np.random.Generator
Pair = tuple[bytes, bytes]

WHOLE = r"(?s:.+)"
"""A pattern that cuts nothing."""


SPLIT = r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
"""The notebook's pattern: GPT-2's without its English endings, for Python's own `re`."""


HOSTILE = [
    "é",
    "e\u0301",
    "日本語 かな",
    "👩\u200d👩\u200d👧",
    "a\u00a0b",
    "İ ﬁ ß",
    "\x00\x7f",
    "\uffff\ufffd",
]
"""Accents of one and of two characters, long characters, joiners, spaces that look like others."""


def uneven(rng: Generator, size: int, n_kinds: int) -> list[int]:
    """Draw ids of which no two neighbours are equal."""
    steps = rng.integers(1, n_kinds, size)
    return [int(i) for i in (rng.integers(n_kinds) + np.cumsum(steps)) % n_kinds]


def trained(
    texts: Sequence[str], n_merges: int, pattern: str, min_count: int = 1
) -> dict[str, Any]:
    """Learn with the package; return vocabulary, its last entry "<eos>", and merges."""
    made = BytePairTokenizer.train(
        texts, vocab_size=257 + n_merges, min_count=min_count, pattern=pattern
    )
    return {"vocabulary": made.vocabulary, "merges": made.merges}


def draw_letters(rng: Generator, letters: str, size: int) -> str:
    """Draw a word of these letters."""
    return "".join(rng.choice(list(letters), size).tolist())


def draw_nonsense(rng: Generator, n_words: int) -> list[str]:
    """Draw words of few syllables, and here and there a number or a sign."""
    syllables = ["lo", "we", "st", "er", "a", "ne", "7", "10", "!"]
    return [
        "".join(rng.choice(syllables[:6], rng.integers(1, 4)).tolist())
        + (str(rng.choice(syllables[6:])) if rng.random() < 0.2 else "")
        for _ in range(n_words)
    ]
