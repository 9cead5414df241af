from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    def of_one(ids, n):
        return Counter({pair: times * n for pair, times in Counter(pairwise(ids)).items()})

    total = Counter()
    for part in map(of_one, words, counts):
        total.update(part)
    return total
