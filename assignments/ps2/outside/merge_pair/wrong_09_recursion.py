# wrong: recursion, one level per id: RecursionError for a thousand ids.
# shows: long lists.

def merge_pair(ids, pair, merged):
    if len(ids) < 2:
        return list(ids)
    if (ids[0], ids[1]) == tuple(pair):
        return [merged] + merge_pair(ids[2:], pair, merged)
    return [ids[0]] + merge_pair(ids[1:], pair, merged)
