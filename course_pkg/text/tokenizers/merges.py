"""Which pairs to merge: the training of byte-pair encoding, apart from texts and tokenizers.

A corpus is reduced to its distinct words and how often each occurs. What remains is one loop:
merge the most frequent pair of adjacent tokens. `recount_merges` counts all pairs again for each
merge and is the one to read; `learn_merges` updates only the counts that a merge changes.
Chapter: tokenization. Sennrich, Haddow & Birch 2016, algorithm 1, made incremental.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[bytes, bytes]
"""Two tokens that become one."""


def recount_merges(
    words: Mapping[bytes, int], n_tokens: int, min_count: int
) -> tuple[list[bytes], list[Pair]]:
    """Learn merges by the definition; arguments and result are those of `learn_merges`.

    Example:
        >>> recount_merges({b"low": 5, b"newest": 6, b"widest": 3}, 258, min_count=2)[1]
        [(b'e', b's'), (b'es', b't')]
    """
    tokens = [bytes([b]) for b in range(256)]
    merges: list[Pair] = []
    corpus = [list(word) for word in words]
    while len(tokens) < n_tokens:
        pairs = count_pairs(corpus, list(words.values()))
        pair = min(pairs, key=lambda p: (-pairs[p], p), default=None)  # ties: the smaller ids
        if pair is None or pairs[pair] < min_count:
            break
        merges.append((tokens[pair[0]], tokens[pair[1]]))
        merged = b"".join(merges[-1])
        if merged not in tokens:  # "a"+"bc" and "ab"+"c" are one token
            tokens.append(merged)
        corpus = [merge_pair(ids, pair, tokens.index(merged)) for ids in corpus]
    return tokens, merges


def learn_merges(
    words: Mapping[bytes, int], n_tokens: int, min_count: int
) -> tuple[list[bytes], list[Pair]]:
    """Learn merges from counted words; return the ordinary tokens by id, and the merges in order.

    A step costs what it changes: only pairs that touch a merge are counted anew, and the next pair
    comes from a heap whose stale entries are corrected when they surface.

    Args:
        words: how often each word occurs.
        n_tokens: stop at so many tokens, the 256 bytes included.
        min_count: stop when no pair is this frequent.
    """
    tokens = [bytes([b]) for b in range(256)]
    id_of = {token: i for i, token in enumerate(tokens)}
    corpus = _Corpus(words)
    heap = [(-n, pair) for pair, n in corpus.pair_counts.items()]
    heapq.heapify(heap)
    merges: list[Pair] = []
    while len(tokens) < n_tokens and heap:
        negative, pair = heapq.heappop(heap)
        count = corpus.pair_counts[pair]
        if -negative != count:  # stale: its count has fallen since it was pushed
            if count > 0:
                heapq.heappush(heap, (-count, pair))
            continue
        if count < min_count:
            break
        first, second = (tokens[ord(symbol)] for symbol in pair)
        made = first + second
        if made not in id_of:  # "a"+"bc" and "ab"+"c" are one token
            id_of[made] = len(tokens)
            tokens.append(made)
        merges.append((first, second))
        for grown in corpus.merge(pair, chr(id_of[made])):
            heapq.heappush(heap, (-corpus.pair_counts[grown], grown))
    return tokens, merges


class _Corpus:
    """Counted words, each token of them written as the one character whose code is its id.

    A word is then a string and a pair is two characters, so that Python's own string methods,
    which are compiled, find and replace the pair; of equally frequent pairs the one with the
    smaller ids is also the smaller string.
    """

    def __init__(self, words: Mapping[bytes, int]) -> None:
        self.spelled = ["".join(map(chr, word)) for word in words]
        self.counts = list(words.values())
        self.pair_counts: Counter[str] = Counter()
        self.where: defaultdict[str, set[int]] = defaultdict(set)
        for w, word in enumerate(self.spelled):
            for first, second in pairwise(word):
                self.pair_counts[first + second] += self.counts[w]
                self.where[first + second].add(w)

    def merge(self, pair: str, made: str) -> Iterable[str]:
        """Replace a pair everywhere; return the pairs that have become more frequent."""
        first, second = pair[0], pair[1]
        lost: Counter[str] = Counter()
        gained: Counter[str] = Counter()
        for w in self.where.pop(pair):
            n, pieces = self.counts[w], self.spelled[w].split(pair)
            self.spelled[w] = made.join(pieces)
            # Between two pieces stands one merge; its neighbours are their nearest characters, or
            # the merge before it where the piece between them is empty.
            for i, (before, after) in enumerate(pairwise(pieces)):
                if before or i > 0:
                    lost[(before[-1] if before else second) + first] += n
                    new = (before[-1] if before else made) + made
                    gained[new] += n
                    self.where[new].add(w)
                if after:
                    lost[second + after[0]] += n
                    gained[made + after[0]] += n
                    self.where[made + after[0]].add(w)
        self.pair_counts.subtract(lost)
        self.pair_counts.update(gained)
        del self.pair_counts[pair]
        return gained


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
