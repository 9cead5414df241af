# wrong: a word of one id or none ends the loop, not only its own round; breaks "how often they are neighbours in the corpus" where "a word may have one id or none"
# shows: count_pairs([[4], [1, 2]], [1, 1]) is {}
from collections import defaultdict


def count_pairs(words, counts):
    pairs = defaultdict(int)
    for ids, count in zip(words, counts):
        if len(ids) < 2:
            break
        for pair in zip(ids, ids[1:]):
            pairs[pair] += count
    return dict(pairs)
