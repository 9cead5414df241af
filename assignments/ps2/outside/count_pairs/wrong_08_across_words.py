# wrong: all words in one row with None between them, and None taken out only on the left.
# shows: keys such as (2, None) after every word.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for a, b in pairwise([None, *ids, None]):
            if a is not None:
                pairs[a, b] += n
    return pairs
