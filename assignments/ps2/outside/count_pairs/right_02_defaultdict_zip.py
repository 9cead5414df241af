from collections import defaultdict


def count_pairs(words, counts):
    pairs = defaultdict(int)
    for k in range(len(words)):
        for pair in zip(words[k], words[k][1:]):
            pairs[pair] += counts[k]
    return pairs
