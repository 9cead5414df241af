"""Which pairs to merge: the training of byte-pair encoding, apart from texts and tokenizers.

A corpus is reduced to its distinct words and how often each occurs. What remains is one loop:
merge the most frequent pair of adjacent tokens, and mend only the counts that this changes.
Chapter: tokenization. Sennrich, Haddow & Birch 2016, algorithm 1, made incremental.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

Pair = tuple[bytes, bytes]
"""Two tokens that become one."""


def learn_merges(
    words: Mapping[bytes, int], n_tokens: int, min_count: int
) -> tuple[list[bytes], list[Pair]]:
    """Learn merges from counted words; return the ordinary tokens by id, and the merges in order.

    A step costs what it changes: only the words that contain the merged pair are counted anew, and
    the next pair comes from a heap whose stale entries are mended when they surface.

    Args:
        words: how often each word occurs.
        n_tokens: stop at so many tokens, the 256 bytes included.
        min_count: stop when no pair is this frequent.
    """
    tokens = [bytes([b]) for b in range(256)]
    id_of = {token: i for i, token in enumerate(tokens)}
    spelled, counts = [list(word) for word in words], list(words.values())
    pair_counts = count_pairs(spelled, counts)
    where: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for w, ids in enumerate(spelled):
        for pair in pairwise(ids):
            where[pair].add(w)
    heap = [(-n, pair) for pair, n in pair_counts.items()]
    heapq.heapify(heap)
    merges: list[Pair] = []
    while len(tokens) < n_tokens and heap:
        negative, pair = heapq.heappop(heap)
        if -negative != pair_counts[pair]:  # stale: its count has fallen since it was pushed
            if pair_counts[pair] > 0:
                heapq.heappush(heap, (-pair_counts[pair], pair))
            continue
        if -negative < min_count:
            break
        made = tokens[pair[0]] + tokens[pair[1]]
        if made not in id_of:  # "a"+"bc" and "ab"+"c" are one token
            id_of[made] = len(tokens)
            tokens.append(made)
        merges.append((tokens[pair[0]], tokens[pair[1]]))
        grown = set()
        for w in where.pop(pair):
            for old in pairwise(spelled[w]):
                pair_counts[old] -= counts[w]
            spelled[w] = merge_pair(spelled[w], pair, id_of[made])
            for new in pairwise(spelled[w]):
                pair_counts[new] += counts[w]
                where[new].add(w)
                if id_of[made] in new:
                    grown.add(new)
        for new in grown:
            heapq.heappush(heap, (-pair_counts[new], new))
    return tokens, merges


def count_pairs(words: Sequence[Sequence[int]], counts: Sequence[int]) -> Counter[tuple[int, int]]:
    """Count adjacent pairs of tokens over a corpus of counted words.

    Args:
        words: ids of each distinct word.
        counts: how often each occurs in the corpus.

    Example:
        >>> count_pairs([[7, 7, 7], [7, 5]], [2, 3])[7, 7]
        4
    """
    pairs: Counter[tuple[int, int]] = Counter()
    for ids, n in zip(words, counts, strict=True):
        for pair in pairwise(ids):
            pairs[pair] += n
    return pairs


def merge_pair(ids: Sequence[int], pair: tuple[int, int], merged: int) -> list[int]:
    """Replace every occurrence of a pair by one id, from left to right.

    Example:
        >>> merge_pair([7, 7, 7, 5], (7, 7), 9)
        [9, 7, 5]
    """
    out: list[int] = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(merged)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out
