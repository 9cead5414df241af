# wrong: if the pair does not occur it returns the caller's own list, not a new one.
# shows: `result is ids`; changing the result changes ids.

from itertools import pairwise


def merge_pair(ids, pair, merged):
    if pair not in pairwise(ids):
        return ids
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(merged)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out
