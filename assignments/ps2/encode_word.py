"""The task "encode a word"."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

from .inputs import (
    WHOLE,
    Generator,
    Pair,
    draw_letters,
    trained,
)
from .merge_pair import WRONG_MERGES, Merge, merge_first_only
from .merge_pair import right_answer as merge_pair

Encode = Callable[[bytes, Sequence[bytes | str], Sequence[Pair]], list[int]]

# -- inputs ----------------------------------------------------------------------------------------


def words_and_merges(
    rng: Generator, letters: str, n_merges: int, lengths: Sequence[int]
) -> dict[str, Any]:
    """Draw words, one of them a run of one letter and one of them learned from."""
    run = draw_letters(rng, letters, 1) * int(rng.integers(5, 8))
    seen = [
        run[:4] + draw_letters(rng, letters, 5),
        *(draw_letters(rng, letters, 9) for _ in range(6)),
    ]
    words = [seen[1][:7], *(draw_letters(rng, letters, n) for n in lengths), run]
    return {"words": [word.encode() for word in words], **trained(seen, n_merges, WHOLE)}


def distinguishes_encoders(
    words: Sequence[bytes], vocabulary: Sequence[bytes | str], merges: Sequence[Pair]
) -> bool:
    """Whether some word gets other ids by each wrong order of merges, and wrong way to merge."""
    right = [encode_word(word, vocabulary, merges) for word in words]
    wrong_orders = (
        longest_match,
        leftmost_pair_first,
        largest_rank_first,
        merge_each_pair_once,
    )
    for encode in (*(m.implementation for m in wrong_orders), *_encoders_by_wrong_merges()):
        with contextlib.suppress(IndexError):
            if [encode(word, vocabulary, merges) for word in words] == right:
                return False
    return True


def _encoders_by_wrong_merges() -> Iterator[Encode]:
    for merge in WRONG_MERGES:
        if merge is merge_first_only.implementation:
            continue  # whoever merges as long as there is a known pair gets them all in the end

        def encode(
            word: bytes,
            vocabulary: Sequence[bytes | str],
            merges: Sequence[Pair],
            merge: Merge = merge,
        ) -> list[int]:
            pieces = [bytes([i]) for i in word]
            for _ in word:  # a wrong merge may leave the same pair for ever
                known = [pair for pair in pairwise(pieces) if pair in merges]
                if known:
                    best = min(known, key=merges.index)
                    pieces = merge(pieces, best, b"".join(best))
            return [vocabulary.index(piece) for piece in pieces]

        yield encode


def _makes_twice(merges: Sequence[Pair]) -> bool:
    """Whether two merges make the same bytes, which the task rules out."""
    return len({first + second for first, second in merges}) < len(merges)


def draw_encodings(rng: Generator) -> list[Case]:
    """Words of the letters from which merges were learned; the last ones tell wrong encoders."""
    cases = []
    for letters, n_merges, lengths in [
        ("ab", 2, (3, 5)),
        ("abc", 7, (6, 9, 4)),
        ("abcdé", 23, (13, 8, 17, 5)),
    ]:
        inputs = words_and_merges(rng, letters, n_merges, lengths)
        while _makes_twice(inputs["merges"]) or (
            n_merges > 20 and not distinguishes_encoders(**inputs)
        ):
            inputs = words_and_merges(rng, letters, n_merges, lengths)
        cases.append(Case(f"{n_merges} merges, {len(inputs['words'])} words", inputs))
    return cases


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
        Case("neighbours that are a token, and no pair", _unpaired(a, b, c)),
    ]


def _unpaired(a: bytes, b: bytes, c: bytes) -> dict[str, Any]:
    """Make neighbours whose bytes together are a token, which another pair makes."""
    merges = [(a, b), (b, c), (a, b + c)]
    vocabulary = [*(bytes([i]) for i in range(256)), *(x + y for x, y in merges), "<eos>"]
    return {"words": [a + b + c, b + c + a], "vocabulary": vocabulary, "merges": merges}


def draw_word_edges(rng: Generator) -> list[Case]:
    """Words without a merge, of one byte, of none; long runs; long characters."""
    letter, other = draw_letters(rng, "pqrst", 1), draw_letters(rng, "uvwxyz", 1)
    inputs = trained([letter * 8 + other, "日本日本", "\x00" + letter], 7, WHOLE)
    texts = [letter * 7, other, "", letter, "#" + other, "日" + other + "本日本", "\x00é", "<eos>"]
    texts += [letter * 101 + other, "👩\u200d👧", "\r\n", "e\u0301", "\x7f\x00\x00"]
    words = [text.encode() for text in texts]
    return [
        Case(f"{len(words)} words, some very short", {"words": words, **inputs}),
        Case("no merges", {"words": words[:2], **trained(["a"], 0, WHOLE)}),
        Case("a special token spelled like another", _spelled_alike(letter + other)),
        Case("a word of 64 bytes, 60 merges", _many_merges()),
    ]


def _many_merges() -> dict[str, Any]:
    """Make a word of bytes that all differ, and merges of its halves, quarters and so on."""
    word = bytes(range(64))
    halves = [
        (word[i : i + n], word[i + n : i + 2 * n])
        for n in (1, 2, 4, 8)
        for i in range(0, 64, 2 * n)
    ]
    vocabulary = [*(bytes([n]) for n in range(256)), *(a + b for a, b in halves), "<eos>"]
    return {"words": [word], "vocabulary": vocabulary, "merges": halves}


def _spelled_alike(word: str) -> dict[str, Any]:
    """Add a special token that has the text of a learned one."""
    learned = trained([word], 1, WHOLE)
    return {"words": [word.encode()], **learned, "vocabulary": [*learned["vocabulary"], word]}


def draw_all(rng: Generator) -> list[Case]:
    """Words of all kinds."""
    return [*draw_encodings(rng), *draw_ranks(rng), *draw_word_edges(rng)]


# -- probes ----------------------------------------------------------------------------------------


def encode_words(implementation, inputs):
    """Return the ids of each word."""
    import operator

    vocabulary, merges = inputs["vocabulary"], inputs["merges"]
    return [
        [operator.index(i) for i in implementation(word, vocabulary, merges)]
        for word in inputs["words"]
    ]


def encode_words_and_keep(implementation, inputs):
    """Return the ids of each word, and the vocabulary and the merges after that."""
    import operator

    vocabulary, merges, ids = inputs["vocabulary"], inputs["merges"], []
    for word in inputs["words"] * 2:
        try:
            ids.append([operator.index(i) for i in implementation(word, vocabulary, merges)])
        except Exception:
            ids.append(None)  # whether there is a result is the business of other parts
    return ids, vocabulary, merges


# -- the reference version -------------------------------------------------------------------------


def encode_word(
    word: bytes, vocabulary: Sequence[bytes | str], merges: Sequence[Pair]
) -> list[int]:
    """Encode with the package, as a text that is not cut."""
    return BytePairTokenizer(vocabulary, merges, pattern=WHOLE).encode(word.decode())


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "A word is cut by the learned merges, and its tokens become ids.",
        draw_encodings,
        encode_words,
        weight=5,
    ),
    Part(
        "ranks",
        "Of the pairs in a word, the one that was learned first is merged first.",
        draw_ranks,
        encode_words,
        weight=3,
    ),
    Part(
        "short and strange words",
        "Empty words, single bytes, repeats and characters of several bytes have ids too.",
        draw_word_edges,
        encode_words,
    ),
    nothing_else_changes(
        "The vocabulary and the merges stay as they were.",
        draw_all,
        encode_words_and_keep,
        says=("the call changes the vocabulary", "the call changes the merges"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(word, vocabulary, merges):
    """The answer that the mistakes start from."""
    pieces = [bytes([b]) for b in word]
    for pair in merges:
        pieces = merge_pair(pieces, pair, b"".join(pair))
    return [vocabulary.index(piece) for piece in pieces]


@mistake(
    hint="You look for the longest token that fits. Training did not work like that: it merged "
    "pairs in the order of their ranks, and so must you.",
)
def longest_match(word, vocabulary, merges):
    """The longest known token is taken, from left to right."""
    ids, place = [], 0
    while place < len(word):
        end = next(e for e in range(len(word), place, -1) if word[place:e] in vocabulary)
        ids.append(vocabulary.index(word[place:end]))
        place = end
    return ids


@mistake(
    hint="You merge the first known pair that you meet from the left. But of all known pairs in "
    "the word, the one with the smallest rank comes first.",
)
def leftmost_pair_first(word, vocabulary, merges):
    """The leftmost known pair is merged first, whatever its rank."""
    pieces = [bytes([b]) for b in word]
    while True:
        known = [pair for pair in pairwise(pieces) if pair in merges]
        if not known:
            return [vocabulary.index(piece) for piece in pieces]
        pieces = merge_pair(pieces, known[0], b"".join(known[0]))


@mistake(
    hint="You prefer the merges that were learned last. A small rank means early, and what was "
    "learned early is merged first.",
)
def largest_rank_first(word, vocabulary, merges):
    """The pair that was learned last is merged first."""
    pieces = [bytes([b]) for b in word]
    while True:
        known = [pair for pair in pairwise(pieces) if pair in merges]
        if not known:
            return [vocabulary.index(piece) for piece in pieces]
        best = max(known, key=merges.index)
        pieces = merge_pair(pieces, best, b"".join(best))


@mistake(
    hint="Your first merge is right, and then you stop. A merge makes new neighbours: go on as "
    "long as some of them are a known pair.",
)
def merge_once(word, vocabulary, merges):
    """Only one merge is made."""
    pieces = [bytes([b]) for b in word]
    known = [pair for pair in pairwise(pieces) if pair in merges]
    if known:
        best = min(known, key=merges.index)
        pieces = merge_pair(pieces, best, b"".join(best))
    return [vocabulary.index(piece) for piece in pieces]


@mistake(
    hint="A pair may occur several times in a word, and you merge only the first. Look at "
    "what happens after a merge was found.",
)
def merge_each_pair_once(word, vocabulary, merges):
    """Each pair is merged at one place of the word only."""
    pieces = [bytes([b]) for b in word]
    for pair in merges:
        for place in range(len(pieces) - 1):
            if (pieces[place], pieces[place + 1]) == pair:
                pieces[place : place + 2] = [b"".join(pair)]
                break
    return [vocabulary.index(piece) for piece in pieces]


MISTAKES = mistakes(
    right_answer,
    longest_match,
    leftmost_pair_first,
    largest_rank_first,
    merge_once,
    merge_each_pair_once,
    mistake(
        "The tokens are returned, not their ids.",
        replace={"[vocabulary.index(piece) for piece in pieces]": "pieces"},
        hint="The word is cut well, but you return the tokens. A model wants their ids: their "
        "places in the vocabulary.",
        keeps=0.5,
    ),
    mistake(
        "The rank of a merge is returned as its id.",
        replace={
            "return [vocabulary.index(piece) for piece in pieces]": """
                made = [a + b for a, b in merges]
                return [made.index(p) if p in made else vocabulary.index(p) for p in pieces]
            """,
        },
        hint="You use a merge's index in the list of merges as its id. But ids count from the "
        "start of the vocabulary, which begins with the 256 bytes.",
        keeps=0.5,
    ),
    mistake(
        "Bytes that are in no merge are lost.",
        replace={
            "[vocabulary.index(piece) for piece in pieces]": (
                "[vocabulary.index(p) for p in pieces if p in {a + b for a, b in merges}]"
            ),
        },
        hint="Some bytes of the word are missing from your ids. A byte that no merge has touched "
        "is a token too.",
        keeps=0.3,
    ),
    mistake(
        "The word is cut into characters, not into bytes.",
        replace={"bytes([b]) for b in word": "character.encode() for character in word.decode()"},
        hint="You start from characters. A character such as 'é' has two bytes and need not be in "
        "the vocabulary. Start from the single bytes.",
    ),
    mistake(
        "A word is one token or nothing but bytes.",
        replace={
            "[vocabulary.index(piece) for piece in pieces]": (
                "[vocabulary.index(word)] if word in vocabulary else list(word)"
            ),
        },
        hint="You return a whole word or single bytes, and nothing in between. Most words are "
        "made of several longer tokens: merge step by step.",
    ),
    mistake(
        "The caller's merges are emptied.",
        replace={"for pair in merges:": "for _ in range(len(merges)):\n    pair = merges.pop(0)"},
        hint="The ids are right, but you have emptied the caller's list of merges, and the next "
        "word will find none. Loop over it without removing anything.",
    ),
)

CHECK = Check(
    item="ps2_encode_word",
    points=16,
    target="encode_word",
    reference=encode_word,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
