# wrong: "if a and b" leaves out every pair with the id 0.
# shows: the id 0 (the zero byte).

from collections import defaultdict


def count_pairs(words, counts):
    pairs = defaultdict(int)
    for ids, n in zip(words, counts):
        for i in range(len(ids)):
            a, b = ids[i], ids[i + 1] if i + 1 < len(ids) else 0
            if a and b:
                pairs[a, b] += n
    return dict(pairs)
