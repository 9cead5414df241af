"""Inputs for the check of learning merges in problem set 2, drawn afresh for every student.

Learning stands on two answers that come before it. So a corpus is drawn again until each typical
mistake in those shows: what the student's answer earns may not hang on luck.
"""

from collections.abc import Sequence

import numpy as np

from assignments.checks.ps2_telling import learning_steps, tell_learners
from autograder.authoring.checks import Case, counted

Generator = np.random.Generator


def _corpus(
    rng: Generator, letters: bytes, lengths: Sequence[int], least: int, most: int
) -> dict[bytes, int]:
    """Draw counted words, two of them with runs of one letter; two words may fall together."""
    spelled = [bytes(rng.choice(list(letters), n).tolist()) for n in lengths]
    first, second = (bytes([letters[i]]) for i in rng.permutation(len(letters))[:2])
    spelled += [first * 3, second + first * int(rng.integers(5, 8))]
    return {word: int(rng.integers(least, most)) for word in spelled}


def _without_ties(
    rng: Generator, letters: bytes, lengths: Sequence[int], n_merges: int
) -> dict[bytes, int]:
    """Draw counted words in which every step has one best pair, and which tell wrong tools."""
    while True:
        words = _corpus(rng, letters, lengths, 1, 10_000)
        ties = [n_best > 1 for _, _, n_best in learning_steps(words, n_merges)]
        if len(ties) == n_merges and not any(ties) and _tell(words, n_merges):
            return words


def _with_ties(
    rng: Generator, letters: bytes, lengths: Sequence[int], n_merges: int
) -> dict[bytes, int]:
    """Draw words of small counts, at least 2, with a tie somewhere, which tell wrong tools."""
    while True:
        words = _corpus(rng, letters, lengths, 2, 4)
        ties = [n_best > 1 for _, _, n_best in learning_steps(words, n_merges)]
        if len(ties) == n_merges and any(ties) and _tell(words, n_merges):
            return words


def _tell(words: dict[bytes, int], n_merges: int) -> bool:
    """Whether all wrong ways show; cases with fewer merges are there to be read at a glance."""
    return n_merges < 6 or tell_learners(words, n_merges)


def _training(size: str, words: dict[bytes, int], n_tokens: int, min_count: int) -> Case:
    return Case(size, {"words": words, "n_tokens": n_tokens, "min_count": min_count})


_LEARNED = [(b"ab", (4, 3, 5), 1), (b"abc", (5, 3, 7, 4), 3), (b"\x00ab\xff", (6, 9, 5, 8, 7), 9)]


def draw_corpora(rng: Generator) -> list[Case]:
    """Counted words in which no two pairs are ever equally frequent at the top."""
    cases = []
    for letters, lengths, n_merges in _LEARNED:
        words = _without_ties(rng, letters, lengths, n_merges)
        name = f"{len(words)} words, {counted(n_merges, 'merge')}"
        cases.append(_training(name, words, 256 + n_merges, 1))
    return cases


def draw_ties(rng: Generator) -> list[Case]:
    """Words of small counts, where ties between letters, and between letters and merges, abound."""
    a, b, c, d, e = sorted(rng.choice(np.arange(97, 123), 5, replace=False).tolist())
    # After (a, b), a merge ties with letters: the merge is younger, though `a` comes before `c`.
    young = {bytes([a, b, e]): 5, bytes([c, d]): 5, bytes([a, b]): 2}
    cases = [
        _training("2 words that begin alike", {bytes([a, d]): 3, bytes([a, b]): 3}, 257, 1),
        _training("3 words, 2 merges", young, 258, 1),
    ]
    for lengths, n_merges in [((5, 4, 6), 4), ((7, 5, 3, 8, 6), 9)]:
        words = _with_ties(rng, bytes([e, c, a, d, b]), lengths, n_merges)
        cases.append(_training(f"{len(words)} words, {n_merges} merges", words, 256 + n_merges, 1))
    return cases


def draw_stops(rng: Generator) -> list[Case]:
    """A pair as frequent as asked and one less frequent; no pair left; no room for a merge."""
    while True:
        words = _without_ties(rng, b"abc", (5, 9, 7, 4), 7)
        counts = [count for _, count, _ in learning_steps(words, 7)]
        if counts[6] < counts[5] and tell_learners(
            words, 6
        ):  # else learning goes on to where ties may be
            break
    few = {b"xy": 1, b"yz": int(rng.integers(2, 9)), b"u": 1}
    return [
        _training("a pair that is just frequent enough", words, 999, counts[5]),
        _training("a pair that is just too rare", words, 999, counts[5] + 1),
        _training("3 words, until no pair is left", few, 999, 1),
        _training("room for the bytes only", words, 256, 1),
    ]
