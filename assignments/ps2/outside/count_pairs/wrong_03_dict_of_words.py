# wrong: the words become keys of a dict: of two equal words only the last count is left.
# shows: the same word twice in the list.

from collections import Counter


def count_pairs(words, counts):
    table = dict(zip(map(tuple, words), counts))
    pairs = Counter()
    for ids, n in table.items():
        for pair in zip(ids, ids[1:]):
            pairs[pair] += n
    return pairs
