"""The task "learn the merges".

Learning stands on two answers that come before it, counting and merging pairs. Where few merges are
made, a mistake in those shows with some inputs and not with others. What a student's answer earns
may not hang on luck, so the corpora are such that each typical mistake in those shows.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache

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
from course_pkg.text.tokenizers import merges as learning

from .count_pairs import MISTAKES as COUNTING_MISTAKES
from .count_pairs import right_answer as count_pairs
from .inputs import (
    Generator,
)
from .merge_pair import WRONG_MERGES, Merge
from .merge_pair import right_answer as merge_pair

# -- inputs ----------------------------------------------------------------------------------------


Count = Callable[[list[list[int]], list[int]], Mapping[tuple[int, int], int]]

WRONG_COUNTS: tuple[Count, ...] = tuple(m.implementation for m in COUNTING_MISTAKES)


def learning_steps(
    words: Mapping[bytes, int],
    n_merges: int,
    count: Count = learning.count_pairs,
    merge: Merge = learning.merge_pair,
) -> list[tuple[tuple[int, int], int, int]]:
    """Learn as the task says; return each merged pair, its count and how many pairs share it."""
    spelled, counts, steps = [list(word) for word in words], list(words.values()), []
    while len(steps) < n_merges and (pairs := count(spelled, counts)):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        steps.append((best, pairs[best], list(pairs.values()).count(pairs[best])))
        spelled = [merge(ids, best, 255 + len(steps)) for ids in spelled]
    return steps


def distinguishes_learners(words: Mapping[bytes, int], n_merges: int) -> bool:
    """Whether learning goes another way with each wrong way to count, and to merge."""
    right = [step[0] for step in learning_steps(words, n_merges)]
    tools = [(count, learning.merge_pair) for count in WRONG_COUNTS]
    tools += [(learning.count_pairs, merge) for merge in WRONG_MERGES]
    for count, merge in tools:
        with contextlib.suppress(IndexError):
            if [step[0] for step in learning_steps(words, n_merges, count, merge)] == right:
                return False
    return True


def _corpus(
    rng: Generator, letters: bytes, lengths: Sequence[int], least: int, most: int
) -> dict[bytes, int]:
    """Draw counted words, two of them with runs of one letter; two words may fall together."""
    spelled = [bytes(rng.choice(list(letters), n).tolist()) for n in lengths]
    first, second = (bytes([letters[i]]) for i in rng.permutation(len(letters))[:2])
    spelled += [first * 3, second + first * int(rng.integers(5, 8))]
    return {word: int(rng.integers(least, most)) for word in spelled}


@cache
def _search(
    letters: bytes, lengths: tuple[int, ...], counts: tuple[int, int], n_merges: int, *, ties: bool
) -> dict[bytes, int]:
    """Return the first corpus with enough merges, with ties or without, which tells wrong tools.

    It is the same for everybody. Cases with fewer merges are there to be read at a glance.
    """
    rng = np.random.default_rng(0)
    while True:
        words = _corpus(rng, letters, lengths, *counts)
        shared = [n_best > 1 for _, _, n_best in learning_steps(words, n_merges)]
        tells = n_merges < 6 or distinguishes_learners(words, n_merges)
        if len(shared) == n_merges and any(shared) == ties and tells:
            return words


def _renamed(rng: Generator, words: Mapping[bytes, int]) -> dict[bytes, int]:
    """Put other letters into words; the order of the letters, on which ties hang, stays."""
    old = sorted({byte for word in words for byte in word if 97 <= byte < 123})
    new = sorted(rng.choice(np.arange(97, 123), len(old), replace=False).tolist())
    table = bytes.maketrans(bytes(old), bytes(new))
    return {word.translate(table): n for word, n in words.items()}


def _training(size: str, words: dict[bytes, int], n_tokens: int, min_count: int) -> Case:
    return Case(size, {"words": words, "n_tokens": n_tokens, "min_count": min_count})


_LEARNED = [(b"ab", (4, 3, 5), 1), (b"abc", (5, 3, 7, 4), 3), (b"\x00ab\xff", (6, 9, 5, 8, 7), 9)]


def draw_corpora(rng: Generator) -> list[Case]:
    """Counted words in which no two pairs are ever equally frequent at the top."""
    cases = []
    for letters, lengths, n_merges in _LEARNED:
        words = _renamed(rng, _search(letters, lengths, (1, 10_000), n_merges, ties=False))
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
        _training("2 words, the later one first", {bytes([c, a]): 4, bytes([b, e]): 4}, 257, 1),
        _training("3 words, 2 merges", young, 258, 1),
    ]
    for lengths, n_merges in [((5, 4, 6), 4), ((7, 5, 3, 8, 6), 9)]:
        words = _renamed(rng, _search(b"ecadb", lengths, (2, 4), n_merges, ties=True))
        cases.append(_training(f"{len(words)} words, {n_merges} merges", words, 256 + n_merges, 1))
    return [*cases, _training("a tie of ids beyond 512", *_late_tie(), 1)]


@cache
def _late_tie() -> tuple[dict[bytes, int], int]:
    """Make 260 merges, and then a tie whose smaller first id stands beside the last of them."""
    pairs = [bytes([first, second]) for first in range(30, 47) for second in range(60, 76)][:260]
    words = {pair: 900 - n for n, pair in enumerate(pairs)}
    words[pairs[-1]] = 500  # the last by far, though it stands in one more word
    return {**words, bytes([2, 0]): 5, bytes([1]) + pairs[-1]: 5}, 256 + len(pairs) + 1


@cache
def _search_stop() -> tuple[dict[bytes, int], int]:
    """Return words whose seventh merge has a lower count than the sixth, and the sixth's count.

    Else learning would go on to where ties may be.
    """
    for n in range(3, 99):
        words = _search(b"abc", (5, 9, 7, n), (1, 10_000), 7, ties=False)
        counts = [count for _, count, _ in learning_steps(words, 7)]
        if counts[6] < counts[5] and distinguishes_learners(words, 6):
            return words, counts[5]
    raise AssertionError("no such corpus")


def draw_stops(rng: Generator) -> list[Case]:
    """A pair as frequent as asked and one less frequent; no pair left; no room for a merge."""
    words, just_enough = _search_stop()
    words = _renamed(rng, words)
    few = {b"xy": 1, b"yz": int(rng.integers(2, 9)), b"u": 1}
    return [
        _training("a pair that is just frequent enough", words, 999, just_enough),
        _training("a pair that is just too rare", words, 999, just_enough + 1),
        _training("3 words, until no pair is left", few, 999, 1),
        _training("room for the bytes only", words, 256, 1),
        _training("no words", {}, 300, 1),
        _training("words without a pair", {b"": 9, b"a": 9}, 300, 1),
        _training("a short word before a long one", {b"a": 9, b"": 4, b"bcb": 5}, 300, 1),
        _training("50 words of two bytes", _many_pairs(), 304, 1),
    ]


def _many_pairs() -> dict[bytes, int]:
    """Make words of two bytes that share none, each rarer than the one before."""
    return {bytes([2 * n, 2 * n + 1]): 900 - n for n in range(50)}


def draw_all(rng: Generator) -> list[Case]:
    """Some of each kind."""
    return [*draw_corpora(rng), *draw_ties(rng)[:3], *draw_stops(rng)[:-1]]


# -- probes ----------------------------------------------------------------------------------------


def learn(implementation, inputs):
    """Return tokens and merges."""
    tokens, merges = implementation(inputs["words"], inputs["n_tokens"], inputs["min_count"])
    return list(tokens), [tuple(pair) for pair in merges]


def learn_twice(implementation, inputs):
    """Return what is learned, whether a second call leaves it alone, and the words after both."""
    words = inputs["words"]
    try:
        tokens, merges = implementation(words, inputs["n_tokens"], inputs["min_count"])
        before = list(tokens), [tuple(pair) for pair in merges]
        implementation({b"ab": 2, b"abab": 1}, 258, 1)
    except Exception:
        return None, True, list(words.items())  # whether there is a result is for other parts
    same = before == (list(tokens), [tuple(pair) for pair in merges])
    return before, same, list(words.items())


# -- the reference version -------------------------------------------------------------------------

learn_merges = learning.learn_merges


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "In each step the most frequent pair is merged and becomes the next token.",
        draw_corpora,
        learn,
        weight=4,
    ),
    Part(
        "ties",
        "Of equally frequent pairs, the one with the smaller first, then second id wins.",
        draw_ties,
        learn,
        weight=3,
    ),
    Part(
        "stopping",
        "Learning stops at n_tokens, below min_count, and when no pair is left.",
        draw_stops,
        learn,
        weight=2,
    ),
    nothing_else_changes(
        "The words stay as they were, and a second call leaves the first answer alone.",
        draw_all,
        learn_twice,
        says=("a second call changes the first result", "the call changes the words"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(words, n_tokens, min_count):
    """The answer that the mistakes start from."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


@mistake(
    hint="You count the pairs once, at the start. But a merge makes new pairs and destroys old "
    "ones, so the counts must be renewed after each.",
)
def count_once(words, n_tokens, min_count):
    """The pairs are counted once, and never again after a merge."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    pairs = count_pairs([list(word) for word in words], list(words.values()))
    for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        if len(tokens) >= n_tokens or pairs[pair] < min_count:
            break
        merges.append((tokens[pair[0]], tokens[pair[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Of equally frequent pairs, the one with the largest ids is merged.",
        replace={"best = min(": "best = max(", "(-pairs[pair], pair)": "(pairs[pair], pair)"},
        hint="Your merges are right as long as one pair is the most frequent. In a tie, the "
        "smaller ids should win. A max over (count, pair) prefers the larger ones.",
    ),
    mistake(
        "Of equally frequent pairs, the one that was counted first is merged.",
        replace={"best = min(": "best = max(", "lambda pair: (-pairs[pair], pair)": "pairs.get"},
        hint="Your merges are right as long as one pair is the most frequent. In a tie you take "
        "the pair that was counted first, which depends on the order of the words.",
    ),
    mistake(
        "Equally frequent pairs are compared by their bytes, not by their ids.",
        replace={"(-pairs[pair], pair)": "(-pairs[pair], tokens[pair[0]], tokens[pair[1]])"},
        hint="You decide ties by the alphabet. The rule asks for ids: a single byte is older than "
        "any merge, and so it comes first, whatever its letter.",
    ),
    mistake(
        "A pair that occurs exactly min_count times is not merged any more.",
        replace={"pairs[best] < min_count": "pairs[best] <= min_count"},
        hint="A pair that occurs exactly min_count times is frequent enough. Look at the "
        "comparison with which you stop.",
    ),
    mistake(
        "Rare pairs are merged as well: min_count is not read.",
        replace={" or pairs[best] < min_count": ""},
        hint="You learn merges from pairs that are too rare: nothing in your answer seems to read "
        "min_count. Compare it with the count of the best pair.",
    ),
    mistake(
        "It fails when no pair is left.",
        replace={", default=None": "", "best is None or ": ""},
        hint="If every word is one token, no pair is left, and then your search for the best one "
        "fails. Ask first whether there is any.",
    ),
    mistake(
        "Every word counts once, however often it occurs.",
        replace={"count_pairs(spelled, counts)": "count_pairs(spelled, [1] * len(spelled))"},
        hint="You seem to count each word once. A word that occurs six times gives each of its "
        "pairs six times. Look at what you do with the values of the dict.",
        keeps=0.3,
    ),
    mistake(
        "The 256 bytes are not counted among the tokens.",
        replace={"len(tokens) < n_tokens": "len(merges) < n_tokens"},
        hint="You learn n_tokens merges. But the 256 bytes are tokens as well, and n_tokens "
        "includes them. Which length do you compare with it?",
        keeps=0.5,
    ),
    mistake(
        "One merge too many is learned.",
        replace={"len(tokens) < n_tokens": "len(tokens) <= n_tokens"},
        hint="You learn one merge more than there is room for. Look at the condition of your loop "
        "when the vocabulary is just full.",
        keeps=0.5,
    ),
    count_once,
    mistake(
        "The merges are pairs of ids, not of bytes.",
        replace={
            "(tokens[best[0]], tokens[best[1]])": "best",
            'b"".join(merges[-1])': "tokens[best[0]] + tokens[best[1]]",
        },
        hint="The right pairs, but you return their ids. A merge is written down as two bytes "
        "objects: look up the two tokens.",
        keeps=0.5,
    ),
    mistake(
        "The words are joined to one text, and merges cross their borders.",
        replace={
            "[list(word) for word in words], list(words.values())": (
                "[[b for word, n in words.items() for b in word * n]], [1]"
            ),
        },
        hint="You seem to join the words to one text. Then the end of a word and the start of the "
        "next become a pair. Keep one list of ids for each word.",
    ),
    mistake(
        "The caller's words are emptied.",
        replace={"while len(tokens) < n_tokens:": "words.clear()\nwhile len(tokens) < n_tokens:"},
        hint="The merges are right, but the dict of the caller is empty afterwards. Read the "
        "words without taking them out.",
    ),
)

CHECK = Check(
    item="ps2_learn_merges",
    points=18,
    target="learn_merges",
    reference=learn_merges,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
