"""Inputs for the checks of problem set 2 but learning, drawn afresh for every student.

Sizes are small, odd and different. Among the ids is 0, which an `if i` takes for nothing. Words
and texts are nonsense of few letters, so that pairs repeat and merges pile up; what is known to
break encoders (accents, emoji, loose bytes, spaces in a row) has cases of its own.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from assignments.checks.ps2_references import WHOLE
from assignments.checks.ps2_telling import tell_encoders
from autograder.authoring.checks import Case, counted
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

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
    """Words of the letters from which merges were learned; the last ones tell wrong encoders."""
    cases = []
    for letters, n_merges, lengths in [
        ("ab", 2, (3, 5)),
        ("abc", 7, (6, 9, 4)),
        ("abcdé", 23, (13, 8, 17, 5)),
    ]:
        inputs = _words_and_merges(rng, letters, n_merges, lengths)
        while n_merges > 20 and not tell_encoders(**inputs):
            inputs = _words_and_merges(rng, letters, n_merges, lengths)
        cases.append(Case(f"{n_merges} merges, {len(inputs['words'])} words", inputs))
    return cases


def _words_and_merges(
    rng: Generator, letters: str, n_merges: int, lengths: Sequence[int]
) -> dict[str, Any]:
    """Draw words, one of them a run of one letter and one of them learned from."""
    run = _letters(rng, letters, 1) * int(rng.integers(5, 8))
    seen = [run[:4] + _letters(rng, letters, 5), *(_letters(rng, letters, 9) for _ in range(6))]
    words = [seen[1][:7], *(_letters(rng, letters, n) for n in lengths), run]
    return {"words": [word.encode() for word in words], **_trained(seen, n_merges, WHOLE)}


def draw_ranks(rng: Generator) -> list[Case]:
    """Merges that compete for the same byte: the longest token is not always the right one."""
    a, b, c, d, e = (bytes([i]) for i in rng.permutation(np.arange(97, 123))[:5].tolist())
    merges = [(b, c), (a, b), (d, e), (bc := b + c, d), (c, d), (a, bc), (e, a)]
    vocabulary = [*(bytes([i]) for i in range(256)), *(x + y for x, y in merges), "<eos>"]
    words = [a + b + c, b + c + d + e, a + b + d, d + e + a + b + c, (a + b + c + d + e) * 2]
    words += [a + b + d + b + a]  # with the reverse of a pair, and the beginning of one at the end
    words += [b"".join([a, b, c, d, e][i] for i in rng.integers(0, 5, n)) for n in (7, 11)]
    return [
        Case("one word", {"words": words[:1], "vocabulary": vocabulary, "merges": merges}),
        Case("7 words", {"words": words[1:], "vocabulary": vocabulary, "merges": merges}),
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
    return [*cases, _telling_text(rng)]


def _telling_text(rng: Generator) -> Case:
    """A text of which some word shows each wrong way to merge."""
    while True:
        inputs = _words_and_merges(rng, "abcd", 21, (13, 8, 17, 5))
        if tell_encoders(**inputs):
            break
    text = " " + " ".join(word.decode() for word in inputs.pop("words"))
    return _text_case("words of few letters", [text], SPLIT, inputs)


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
        Case(counted(len(ids), "id"), {"lists": [ids], "vocabulary": learned["vocabulary"]})
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
