# first find where merges begin, then build

from itertools import pairwise


def merge_pair(ids, pair, merged):
    begins, free = set(), 0
    for i, both in enumerate(pairwise(ids)):
        if i >= free and both == tuple(pair):
            begins.add(i)
            free = i + 2
    return [merged if i in begins else token for i, token in enumerate(ids) if i - 1 not in begins]
