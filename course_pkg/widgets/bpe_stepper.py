"""Byte-pair encoding of a line, one merge at a time.

Chapter: tokenization.
"""

from collections.abc import Sequence
from itertools import pairwise

import regex

from course_pkg.text.tokenizers.merges import Pair, merge_pair
from course_pkg.widgets.widget import Widget, show_whitespace


def bpe_stepper(
    text: str, merges: Sequence[Pair], *, pattern: str, n_merged: int, alt: str
) -> Widget:
    """Let the reader encode a line by byte-pair encoding, one merge at a time, or learn from it.

    A step applies the earliest-learned merge that fits anywhere to all places where it fits.

    Args:
        text: the line in the resting state.
        merges: learned pairs, the first learned first.
        pattern: where the line is cut before it is merged; JavaScript must know it too.
        n_merged: steps already done in the resting state.

    Raises:
        ValueError: a merge uses what no earlier one makes, or `n_merged` exceeds the steps.
    """
    tokens = [bytes([b]) for b in range(256)]
    ids = {token: i for i, token in enumerate(tokens)}
    ranks: dict[tuple[int, int], int] = {}
    for rank, (first, second) in enumerate(merges):
        if first not in ids or second not in ids:
            raise ValueError(f"merge {(first, second)!r} uses what no earlier merge makes")
        ranks[ids[first], ids[second]] = rank
        if first + second not in ids:
            ids[first + second] = len(tokens)
            tokens.append(first + second)
    try:
        matches = list(regex.finditer(pattern, text))
    except regex.error as error:
        raise ValueError(f"pattern is {pattern!r}, no regular expression: {error}") from error
    words = [list(match.group().encode()) for match in matches]
    steps = [("", words)]
    while known := [pair for word in words for pair in pairwise(word) if pair in ranks]:
        pair = min(known, key=ranks.__getitem__)
        made = tokens[pair[0]] + tokens[pair[1]]
        words = [merge_pair(word, pair, ids[made]) for word in words]
        steps.append((" + ".join(_readable(tokens[i]) for i in pair), words))
    if not 0 <= n_merged < len(steps):
        raise ValueError(f"n_merged is {n_merged}; this line has {len(steps) - 1} merges")
    return Widget(
        "lm-bpe-stepper",
        {"text": text, "merges": list(ranks), "pattern": pattern, "merged": n_merged},
        alt,
        ("step", "merged", "tokens"),
        [
            (str(n), merged, " | ".join(_readable(tokens[i]) for word in words for i in word))
            for n, (merged, words) in enumerate(steps)
        ],
    )


def _readable(token: bytes) -> str:
    return show_whitespace(token.decode("utf-8", errors="backslashreplace"))
