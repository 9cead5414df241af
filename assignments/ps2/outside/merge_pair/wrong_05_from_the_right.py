# wrong: goes from right to left.
# shows: runs of odd length: [7, 7, 7].

def merge_pair(ids, pair, merged):
    out, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == tuple(pair):
            out.append(merged)
            i -= 2
        else:
            out.append(ids[i])
            i -= 1
    return out[::-1]
