# wrong: packs a pair into one number with 16 bits for each id, so ids from 65536 on fall on other pairs; breaks "words: list of lists of int, the ids of each word" / "its keys are pairs of ids"
# shows: count_pairs([[70000, 1]], [1]) is {(4464, 1): 1}
from collections import Counter


def count_pairs(words, counts):
    packed = Counter()
    for ids, count in zip(words, counts):
        for a, b in zip(ids, ids[1:]):
            packed[(a & 0xFFFF) << 16 | (b & 0xFFFF)] += count
    return {(key >> 16, key & 0xFFFF): count for key, count in packed.items()}
