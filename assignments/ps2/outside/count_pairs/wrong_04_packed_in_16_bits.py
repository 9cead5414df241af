# wrong: packs a pair into a number, a * 65536 + b: right up to the id 65535, wrong above (vocabularies of 100,000 tokens exist).
# shows: an id of 65536 and more on the right.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    packed = Counter()
    for ids, n in zip(words, counts):
        for a, b in pairwise(ids):
            packed[a * 65536 + b] += n
    return {(key // 65536, key % 65536): n for key, n in packed.items()}
