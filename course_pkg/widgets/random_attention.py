"""Attention between random vectors of the reader's own words: width, scale and masks.

Chapter: self-attention.
"""

import math
from collections.abc import Sequence

import numpy as np

from course_pkg.widgets.widget import Widget

MOST_WORDS = 10
WIDTHS = (1, 4, 16, 64, 256, 1024)


def random_attention(text: str, *, d: int = 64, alt: str) -> Widget:
    """Let the reader type words and see what attention does to random queries and keys of them.

    The page gives each different word a query and a key of independent normal numbers, the same
    whenever the word comes. Nothing is learned: what shows is the arithmetic alone.

    Args:
        text: what stands in the field at first, up to `MOST_WORDS` words.
        d: width of queries and keys at first, one of `WIDTHS`.

    Raises:
        ValueError: no word or too many, or another width.
    """
    words = text.split()
    if not 1 <= len(words) <= MOST_WORDS:
        raise ValueError(f"text has {len(words)} words; it must have 1 to {MOST_WORDS}")
    if d not in WIDTHS:
        raise ValueError(f"d is {d}; it must be one of {WIDTHS}")
    rows = []
    for width in WIDTHS:
        shown = []
        for scale in (1.0, math.sqrt(width)):
            weights = attention_of_words(words, width, scale)
            shown += [
                f"{weights.max(axis=1).mean():.2f}",
                f"{(1 - (weights**2).sum(axis=1)).mean():.2f}",
            ]
        rows.append((str(width), *shown))
    return Widget(
        "lm-random-attention",
        {"text": text, "d": d, "widths": list(WIDTHS), "most": MOST_WORDS},
        alt,
        (
            "width d",
            "largest weight",
            "sum of softmax slopes, 1 − Σa²",
            "largest weight, divided by √d",
            "sum of slopes, divided by √d",
        ),
        rows,
    )


def attention_of_words(words: Sequence[str], d: int, scale: float) -> np.ndarray:
    """Return the weights (T, T) that the page computes: softmax of query key^T / scale."""
    query = np.array([_normal_numbers(f"query {word}", d) for word in words])
    key = np.array([_normal_numbers(f"key {word}", d) for word in words])
    scores = query @ key.T / scale
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _normal_numbers(name: str, n: int) -> list[float]:
    """Draw n numbers of mean 0 and variance 1 that the name alone determines.

    Fowler-Noll-Vo hash of the name, the generator mulberry32 from there on, and pairs by Box and
    Muller 1958: all three are a few lines in any language, so the page draws the same.
    """
    state = 2166136261
    units = name.encode("utf-16-le")
    for low, high in zip(units[::2], units[1::2], strict=True):
        state = (state ^ (low | high << 8)) * 16777619 & 0xFFFFFFFF

    def uniform() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        mixed = (state ^ state >> 15) * (state | 1) & 0xFFFFFFFF
        mixed ^= mixed + ((mixed ^ mixed >> 7) * (mixed | 61) & 0xFFFFFFFF) & 0xFFFFFFFF
        return ((mixed ^ mixed >> 14) + 0.5) / 2**32

    numbers: list[float] = []
    while len(numbers) < n:
        radius, angle = math.sqrt(-2 * math.log(uniform())), 2 * math.pi * uniform()
        numbers += [radius * math.cos(angle), radius * math.sin(angle)]
    return numbers[:n]
