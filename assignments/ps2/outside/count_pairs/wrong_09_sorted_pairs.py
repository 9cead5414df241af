# wrong: (2, 1) and (1, 2) are counted as one.
# shows: both orders.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for a, b in pairwise(ids):
            pairs[min(a, b), max(a, b)] += n
    return pairs
