# wrong: after a pair of equal ids it skips one: (7, 7) once in [7, 7, 7].
# shows: runs of three and more.

from collections import Counter


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        i = 0
        while i < len(ids) - 1:
            pairs[ids[i], ids[i + 1]] += n
            i += 2 if ids[i] == ids[i + 1] and ids[i + 1 : i + 3] == ids[i : i + 2] else 1
    return pairs
