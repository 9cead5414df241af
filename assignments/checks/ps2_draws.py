"""Inputs for the checks of problem set 2, drawn afresh for every student.

Sizes are small, odd and different. Among the ids is 0, which an `if i` takes for nothing. Words
and texts are nonsense of few letters, so that pairs repeat and merges pile up; what is known to
break encoders (accents, emoji, loose bytes, spaces in a row) has cases of its own.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from assignments.checks.ps2_references import WHOLE
from autograder.checks import Case
from course_pkg.text.byte_pair import BytePairTokenizer
from course_pkg.text.merges import count_pairs, learn_merges, merge_pair

Generator = np.random.Generator

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


# -- pairs -----------------------------------------------------------------------------------------


def _uneven(rng: Generator, size: int, n_kinds: int) -> list[int]:
    """Draw ids of which no two neighbours are equal."""
    steps = rng.integers(1, n_kinds, size)
    return [int(i) for i in (rng.integers(n_kinds) + np.cumsum(steps)) % n_kinds]


def _counted(name: str, rng: Generator, words: list[list[int]]) -> Case:
    counts = [*rng.integers(2, 30, len(words) - 1).tolist(), 1]
    return Case(name, {"words": words, "counts": counts})


def draw_words(rng: Generator) -> list[Case]:
    """Words in which no id stands beside itself."""
    return [
        _counted("one word of 3 ids", rng, [_uneven(rng, 3, 3)]),
        _counted("2 words", rng, [_uneven(rng, n, 3) for n in (5, 2)]),
        _counted("5 words", rng, [_uneven(rng, n, 4) for n in (7, 3, 9, 4, 6)]),
        _counted("7 words with long ids", rng, [[i + 300 for i in _uneven(rng, 5, 3)]] * 7),
    ]


def draw_runs(rng: Generator) -> list[Case]:
    """Words with runs of one id, and words too short for a pair."""
    first, second = (int(i) for i in rng.permutation(5)[:2])
    return [
        _counted("a run of 3 equal ids", rng, [[first] * 3]),
        _counted("runs of several lengths", rng, [[first] * 2, [second, *[first] * 5, second] * 2]),
        _counted("words of no or one id", rng, [[], [first], [first, second], [second], []]),
    ]


def draw_merges(rng: Generator) -> list[Case]:
    """A pair of two different ids, in lists that hold it several times."""
    cases = []
    for name, n_kinds, size in [("5 ids", 2, 5), ("9 ids", 3, 9), ("31 ids", 4, 31)]:
        ids = _uneven(rng, size, n_kinds)
        pairs = list(dict.fromkeys(pairwise(ids)))
        cases.append(Case(name, {"questions": [(ids, pair, 300) for pair in pairs]}))
    pieces = [[b"d", b"\x00", b"ab", b"c"][i] for i in _uneven(rng, 17, 4)]
    question = (pieces, (pieces[0], pieces[1]), pieces[0] + pieces[1] + b"+")
    return [*cases, Case("17 bytes objects", {"questions": [question]})]


def draw_merge_runs(rng: Generator) -> list[Case]:
    """A pair of twice the same id, in runs."""
    first, second = (int(i) for i in rng.permutation(5)[:2])
    runs = [[first] * 3, [first] * 4, [second, *[first] * 7, second, first, first]]
    return [
        Case(f"runs among {len(ids)} ids", {"questions": [(ids, (first, first), 7)]})
        for ids in runs
    ]


def draw_merge_edges(rng: Generator) -> list[Case]:
    """Nothing to merge, or a pair at the very start or end."""
    a, b, c = (int(i) for i in rng.permutation(5)[:3])
    lists = [[a, b], [b, c, a, b], [a, b, c], [], [a], [b], [b, a], [a, c, b], [c, b, a]]
    name = "lists of 0 to 4 ids"
    return [Case(name, {"questions": [(ids, (a, b), 9) for ids in lists]})]


# -- learning --------------------------------------------------------------------------------------


def best_counts(words: dict[bytes, int], n_merges: int) -> list[tuple[int, int]]:
    """Return, for each merge, the count of the best pair and how many pairs have it."""
    tokens, merges = learn_merges(words, 256 + n_merges, 1)
    spelled, counts, found = [list(word) for word in words], list(words.values()), []
    for first, second in merges:
        pairs = list(count_pairs(spelled, counts).values())
        found.append((max(pairs), pairs.count(max(pairs))))
        pair, merged = (tokens.index(first), tokens.index(second)), tokens.index(first + second)
        spelled = [merge_pair(ids, pair, merged) for ids in spelled]
    return found


def _corpus(
    rng: Generator, letters: bytes, lengths: Sequence[int], largest: int
) -> dict[bytes, int]:
    """Draw counted words; two words may fall together."""
    spelled = [bytes(rng.choice(list(letters), n).tolist()) for n in lengths]
    return {word: int(rng.integers(1, largest)) for word in spelled}


def _without_ties(
    rng: Generator, letters: bytes, lengths: Sequence[int], n_merges: int
) -> dict[bytes, int]:
    """Draw counted words in which every step has one best pair."""
    while True:
        words = _corpus(rng, letters, lengths, 1000)
        steps = best_counts(words, n_merges)
        if len(steps) == n_merges and all(n_best == 1 for _, n_best in steps):
            return words


def _training(size: str, words: dict[bytes, int], n_tokens: int, min_count: int) -> Case:
    return Case(size, {"words": words, "n_tokens": n_tokens, "min_count": min_count})


_LEARNED = [(b"ab", (4, 3, 5), 1), (b"abc", (5, 3, 7, 4), 3), (b"\x00ab\xff", (6, 9, 5, 8, 7), 6)]


def draw_corpora(rng: Generator) -> list[Case]:
    """Counted words in which no two pairs are ever equally frequent at the top."""
    return [
        _training(
            f"{len(lengths)} words, {n_merges} merge{'s' * (n_merges > 1)}",
            _without_ties(rng, letters, lengths, n_merges),
            256 + n_merges,
            1,
        )
        for letters, lengths, n_merges in _LEARNED
    ]


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
        words = _corpus(rng, bytes([e, c, a, d, b]), lengths, 3)
        cases.append(
            _training(f"{len(lengths)} words, {n_merges} merges", words, 256 + n_merges, 1)
        )
    return cases


def draw_stops(rng: Generator) -> list[Case]:
    """A pair as frequent as asked and one less frequent; no pair left; no room for a merge."""
    while True:
        words = _without_ties(rng, b"abc", (5, 3, 7, 4), 4)
        counts = [best for best, _ in best_counts(words, 4)]
        if counts[3] < counts[2]:  # else learning goes on to where ties may be
            break
    few = {b"xy": 1, b"yz": int(rng.integers(2, 9)), b"u": 1}
    return [
        _training("a pair that is just frequent enough", words, 999, counts[2]),
        _training("a pair that is just too rare", words, 999, counts[2] + 1),
        _training("3 words, until no pair is left", few, 999, 1),
        _training("room for the bytes only", words, 256, 1),
    ]


# -- encoding --------------------------------------------------------------------------------------


def _trained(
    texts: Sequence[str], n_merges: int, pattern: str, min_count: int = 1
) -> dict[str, Any]:
    """Learn with the package; return vocabulary, its last entry "<eos>", and merges."""
    made = BytePairTokenizer.train(
        texts, vocab_size=257 + n_merges, min_count=min_count, pattern=pattern
    )
    return {"vocabulary": made.vocabulary, "merges": made.merges}


def _letters(rng: Generator, letters: str, size: int) -> str:
    return "".join(rng.choice(list(letters), size).tolist())


def draw_encodings(rng: Generator) -> list[Case]:
    """Words of the letters from which merges were learned."""
    cases = []
    for letters, n_merges, lengths in [
        ("ab", 2, (3, 5)),
        ("abc", 7, (6, 9, 4)),
        ("abcdé", 23, (13, 8, 17, 5)),
    ]:
        seen = [_letters(rng, letters, 9) for _ in range(7)]
        words = [_letters(rng, letters, n).encode() for n in lengths]
        known = seen[0][:7].encode()
        inputs = {"words": [known, *words], **_trained(seen, n_merges, WHOLE)}
        cases.append(Case(f"{n_merges} merges, {len(words) + 1} words", inputs))
    return cases


def draw_ranks(rng: Generator) -> list[Case]:
    """Merges that compete for the same byte: the longest token is not always the right one."""
    a, b, c, d, e = (bytes([i]) for i in rng.permutation(np.arange(97, 123))[:5].tolist())
    merges = [(b, c), (a, b), (d, e), (bc := b + c, d), (c, d), (a, bc), (e, a)]
    vocabulary = [*(bytes([i]) for i in range(256)), *(x + y for x, y in merges), "<eos>"]
    words = [a + b + c, b + c + d + e, a + b + d, d + e + a + b + c, (a + b + c + d + e) * 2]
    words += [b"".join([a, b, c, d, e][i] for i in rng.integers(0, 5, n)) for n in (7, 11)]
    return [
        Case("one word", {"words": words[:1], "vocabulary": vocabulary, "merges": merges}),
        Case("6 words", {"words": words[1:], "vocabulary": vocabulary, "merges": merges}),
    ]


def draw_word_edges(rng: Generator) -> list[Case]:
    """Words without a merge, of one byte, of none; long runs; long characters."""
    letter, other = _letters(rng, "pqrst", 1), _letters(rng, "uvwxyz", 1)
    inputs = _trained([letter * 8 + other, "日本日本", "\x00" + letter], 7, WHOLE)
    texts = [letter * 7, other, "", letter, "#" + other, "日" + other + "本日本", "\x00é"]
    words = [text.encode() for text in texts]
    return [
        Case(f"{len(words)} words, some very short", {"words": words, **inputs}),
        Case("no merges", {"words": words[:2], **_trained([], 0, WHOLE)}),
    ]


def _words(rng: Generator, n_words: int) -> list[str]:
    """Draw words of few syllables, and here and there a number or a sign."""
    syllables = ["lo", "we", "st", "er", "a", "ne", "7", "10", "!"]
    return [
        "".join(rng.choice(syllables[:6], rng.integers(1, 4)).tolist())
        + (str(rng.choice(syllables[6:])) if rng.random() < 0.2 else "")
        for _ in range(n_words)
    ]


def _text_case(size: str, texts: list[str], pattern: str, learned: dict[str, Any]) -> Case:
    return Case(size, {"texts": texts, "pattern": pattern, **learned})


def draw_texts(rng: Generator) -> list[Case]:
    """Words with one space between, and merges that know no border."""
    cases = []
    for n_words, n_merges in [(2, 5), (7, 11), (19, 29)]:
        learned = _trained([" ".join(_words(rng, 23))], n_merges, SPLIT)
        texts = [" ".join(_words(rng, n_words)) for _ in range(2)]
        cases.append(_text_case(f"texts of {n_words} words", texts, SPLIT, learned))
    return cases


def draw_borders(rng: Generator) -> list[Case]:
    """Merges that would cross a border if they were let; cuts at other places than spaces."""
    first, second = _words(rng, 2)
    phrase = f"{first} {second}, {first} {second}"
    learned = _trained([phrase] * 3, 13, WHOLE)
    halves, lines = _letters(rng, "almnoz", 15), f"{first}\n{second}"
    return [
        _text_case("two words", [f"{first} {second}"], SPLIT, learned),
        _text_case("two words and a comma", [phrase], SPLIT, learned),
        _text_case(
            "another pattern", [halves], r"[a-m]+|[^a-m]+", _trained([halves] * 2, 9, WHOLE)
        ),
        _text_case("a pattern for lines", [lines], r".+|\n", _trained([lines], 99, WHOLE)),
    ]


def draw_spaces(rng: Generator) -> list[Case]:
    """Spaces at both ends, in a row, and of other kinds."""
    first, second, third = _words(rng, 3)
    learned = _trained([f"{first} {second}  {third}\n\n    {first}"] * 2, 17, SPLIT)
    texts = {
        "a space at the start": f" {first} {second}",
        "a space at the end": f"{second} {first} ",
        "spaces in a row": f"{first}  {second}   {third}",
        "lines and tabs": f"{first}\n\n    {second}\t{third}\r\n",
    }
    return [_text_case(size, [text], SPLIT, learned) for size, text in texts.items()]


def draw_any_text(rng: Generator) -> list[Case]:
    """Characters of several bytes, a text of none, and the name of a special token."""
    first, second = _words(rng, 2)
    strange = [HOSTILE[i] for i in rng.permutation(len(HOSTILE))]
    learned = _trained([f"{first} {strange[0]} {strange[1]}", "<eos>" + strange[2]] * 2, 15, SPLIT)
    accents = f"{first} Ärger {second} naïve"
    return [
        _text_case("a text with accents", [accents], SPLIT, _trained([accents], 99, SPLIT)),
        _text_case("an empty text", [first, ""], SPLIT, learned),
        _text_case("characters of all kinds", [first.join(strange), *strange], SPLIT, learned),
        _text_case("capital letters", [f"{first} {second.upper()}"], SPLIT, learned),
        _text_case(
            "the name of a special token", [f"{first}<eos>{second}", "<eos>"], SPLIT, learned
        ),
    ]


# -- decoding --------------------------------------------------------------------------------------


def _ids(rng: Generator, learned: dict[str, Any], n_ids: int) -> list[int]:
    """Draw ids of tokens that are plain ASCII."""
    plain = [i for i, t in enumerate(learned["vocabulary"]) if isinstance(t, bytes) and t.isascii()]
    return [plain[i] for i in rng.integers(0, len(plain), n_ids)]


def draw_ids(rng: Generator) -> list[Case]:
    """Ids of bytes and of merges, each plain text by itself."""
    learned = _trained([" ".join(_words(rng, 17))], 19, SPLIT)
    lists = [_ids(rng, learned, n) for n in (1, 5, 23)]
    lists[1] = [256, 0, *lists[1], 257, 32]
    return [
        Case(f"{len(ids)} ids", {"lists": [ids], "vocabulary": learned["vocabulary"]})
        for ids in lists
    ]


def draw_characters(rng: Generator) -> list[Case]:
    """Characters of which every byte is a token of its own, among merges."""
    strange = [HOSTILE[i] for i in rng.permutation(5)]
    learned = _trained([" ".join(_words(rng, 9))], 9, SPLIT)
    lists = [[*text.encode(), *_ids(rng, learned, 3)] for text in strange]
    return [
        Case(
            f"{len(ids)} ids, some of them parts of a character", {"lists": [ids], **_only(learned)}
        )
        for ids in sorted(lists, key=len)
    ]


def draw_broken(rng: Generator) -> list[Case]:
    """Bytes that are no UTF-8: characters cut off, and bytes that never stand alone."""
    learned = _trained([" ".join(_words(rng, 9))], 9, SPLIT)
    plain = _ids(rng, learned, 3)
    cut = [*plain, *"日".encode()[:2], *plain]
    return [
        Case("a loose byte", {"lists": [[*plain, int(rng.integers(128, 192))]], **_only(learned)}),
        Case("half a character", {"lists": [cut, [255, *cut], [*cut, 240]], **_only(learned)}),
    ]


def draw_other_ids(rng: Generator) -> list[Case]:
    """Special tokens, no ids at all, and ids that no token has."""
    learned = _trained([" ".join(_words(rng, 9))], 7, SPLIT)
    vocabulary = [*learned["vocabulary"], "<pad>"]
    size, plain = len(vocabulary), _ids(rng, learned, 5)
    lists = {
        "a special token": [[*plain, size - 2, *plain, size - 1]],
        "no ids": [plain, []],
        "an id that is too large": [plain, [*plain, size]],
        "an id below 0": [plain, [-1, *plain], [*plain, -size]],
    }
    return [Case(name, {"lists": ids, "vocabulary": vocabulary}) for name, ids in lists.items()]


def _only(learned: dict[str, Any]) -> dict[str, Any]:
    return {"vocabulary": learned["vocabulary"]}


# -- measuring -------------------------------------------------------------------------------------


def _measured(rng: Generator, size: str, texts: list[str]) -> Case:
    """Give every text ids, fewer than it has bytes, some of them twice."""
    ids = {
        text: rng.integers(0, 9, rng.integers(1, max(2, len(text) // 2))).tolist() if text else []
        for text in texts
    }
    return Case(size, {"texts": texts, "ids": ids})


def draw_measured(rng: Generator) -> list[Case]:
    """Texts of very different length."""
    one, two, three = (" ".join(_words(rng, n)) for n in (5, 2, 31))
    return [
        _measured(rng, "one text", [one]),
        _measured(rng, "one text of one token", ["abc"]),
        _measured(rng, "3 texts of different length", [two + ".", three, one]),
    ]


def draw_measured_characters(rng: Generator) -> list[Case]:
    """Texts whose characters take more than one byte."""
    texts = [HOSTILE[i] * 3 for i in rng.permutation(6)[:3]]
    return [_measured(rng, "texts with accents and signs", ["naïve Ärger", *texts])]


def draw_nothing_to_measure(rng: Generator) -> list[Case]:
    """Texts that give no token, and some of which one does."""
    text = " ".join(_words(rng, 5))
    return [
        _measured(rng, "an empty text among others", ["", text]),
        _measured(rng, "empty texts only", ["", ""]),
        _measured(rng, "no texts", []),
    ]
