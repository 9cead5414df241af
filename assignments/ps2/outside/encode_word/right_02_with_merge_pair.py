# needs: merge_pair

from itertools import pairwise


def encode_word(word, vocabulary, merges):
    parts = [word[i : i + 1] for i in range(len(word))]
    ranks = dict(zip(merges, range(len(merges))))
    while known := [pair for pair in pairwise(parts) if pair in ranks]:
        pair = min(known, key=ranks.__getitem__)
        parts = merge_pair(parts, pair, pair[0] + pair[1])
    return list(map(vocabulary.index, parts))
