# wrong: pops the ids from the caller's words.
# shows: words after the call.

from collections import Counter


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        while len(ids) > 1:
            last = ids.pop()
            pairs[ids[-1], last] += n
    return pairs
