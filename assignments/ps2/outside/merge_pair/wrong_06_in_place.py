# wrong: changes the caller's list with del (and returns it).
# shows: ids after the call.

def merge_pair(ids, pair, merged):
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i : i + 2] = [merged]
        i += 1
    return ids
