# wrong: counts how many words have it, times the LAST count.
# shows: several words with different counts.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs, weight = Counter(), {}
    for ids, n in zip(words, counts):
        for pair in pairwise(ids):
            pairs[pair] += 1
            weight[pair] = n
    return {pair: pairs[pair] * weight[pair] for pair in pairs}
