# right: counts the pairs of each word alone, multiplies, and adds the tables up
from collections import Counter
from itertools import islice


def count_pairs(words, counts):
    pairs = Counter()
    for number, ids in enumerate(words):
        inside = Counter(zip(ids, islice(ids, 1, None)))
        pairs.update({pair: times * counts[number] for pair, times in inside.items()})
    return pairs
