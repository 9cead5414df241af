from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for pair in pairwise(ids):
            pairs[pair] += n
    return pairs
