# wrong: where the pair does not occur, returns the list that it was given; breaks "returns: a new list"
# shows: ids = [1, 2, 3]; merge_pair(ids, (3, 1), 9) is ids
def merge_pair(ids, pair, merged):
    if tuple(pair) not in zip(ids, ids[1:]):
        return ids
    result, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            result.append(merged)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result
