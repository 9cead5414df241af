from itertools import pairwise
import itertools


def count_pairs(words, counts):
    rows = [(pair, n) for ids, n in zip(words, counts) for pair in pairwise(ids)]
    rows.sort()
    return {
        pair: sum(n for _, n in group)
        for pair, group in itertools.groupby(rows, key=lambda row: row[0])
    }
