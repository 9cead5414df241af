"""Inputs of problem set 2 that tell wrong answers from right ones.

Learning and encoding stand on answers that come before them: counting pairs, merging a pair. Where
few merges are made, a mistake in those shows with some inputs and not with others, and it would be
luck what a student's answer earns. So draws ask here, and draw again.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from assignments.answers.ps2 import count_pairs as count_answers
from assignments.answers.ps2 import encode_word as encode_answers
from assignments.answers.ps2 import merge_pair as merge_answers
from assignments.checks import ps2_references
from course_pkg.text.tokenizers.merges import count_pairs, merge_pair

Pair = tuple[bytes, bytes]
Count = Callable[[list[list[int]], list[int]], Mapping[tuple[int, int], int]]
Merge = Callable[[list, tuple, object], list]
Encode = Callable[[bytes, Sequence[bytes | str], Sequence[Pair]], list[int]]

# Where every caller keeps its own lists, as it must, these two do no harm.
_HARMLESS_MERGES = {merge_answers.merge_in_place, merge_answers.return_argument_if_absent}
_WRONG_MERGES: tuple[Merge, ...] = tuple(
    mistake.implementation
    for mistake in merge_answers.MISTAKES
    if mistake.implementation not in _HARMLESS_MERGES
)
_WRONG_COUNTS: tuple[Count, ...] = tuple(m.implementation for m in count_answers.MISTAKES)
_WRONG_ORDERS: tuple[Encode, ...] = (
    encode_answers.longest_match,
    encode_answers.leftmost_pair_first,
    encode_answers.largest_rank_first,
    encode_answers.merge_each_pair_once,
)


def learning_steps(
    words: Mapping[bytes, int],
    n_merges: int,
    count: Count = count_pairs,
    merge: Merge = merge_pair,
) -> list[tuple[tuple[int, int], int, int]]:
    """Learn as the task says; return each merged pair, its count and how many pairs share it."""
    spelled, counts, steps = [list(word) for word in words], list(words.values()), []
    while len(steps) < n_merges and (pairs := count(spelled, counts)):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        steps.append((best, pairs[best], list(pairs.values()).count(pairs[best])))
        spelled = [merge(ids, best, 255 + len(steps)) for ids in spelled]
    return steps


def tell_learners(words: Mapping[bytes, int], n_merges: int) -> bool:
    """Whether learning goes another way with each wrong way to count, and to merge."""
    right = [step[0] for step in learning_steps(words, n_merges)]
    tools = [(count, merge_pair) for count in _WRONG_COUNTS]
    tools += [(count_pairs, merge) for merge in _WRONG_MERGES]
    for count, merge in tools:
        with contextlib.suppress(IndexError):
            if [step[0] for step in learning_steps(words, n_merges, count, merge)] == right:
                return False
    return True


def tell_encoders(
    words: Sequence[bytes], vocabulary: Sequence[bytes | str], merges: Sequence[Pair]
) -> bool:
    """Whether some word gets other ids by each wrong order of merges, and wrong way to merge."""
    right = [ps2_references.encode_word(word, vocabulary, merges) for word in words]
    for encode in (*_WRONG_ORDERS, *_encoders_by_wrong_merges()):
        with contextlib.suppress(IndexError):
            if [encode(word, vocabulary, merges) for word in words] == right:
                return False
    return True


def _encoders_by_wrong_merges() -> Iterator[Encode]:
    for merge in _WRONG_MERGES:
        if merge is merge_answers.merge_first_only:
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
