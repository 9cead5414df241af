# wrong: a pair that occurs twice in one word is counted once (set).
# shows: [7, 7, 7] or [1, 2, 1, 2].

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for pair in set(pairwise(ids)):
            pairs[pair] += n
    return pairs
