# wrong: a 0 is put behind the end as a neighbour: a last id that is pair[0] merges with it if pair[1] is 0.
# shows: [5] with the pair (5, 0): must stay [5].

def merge_pair(ids, pair, merged):
    padded, out, i = [*ids, 0], [], 0
    while i < len(ids):
        if (padded[i], padded[i + 1]) == tuple(pair):
            out.append(merged)
            i += 2
        else:
            out.append(padded[i])
            i += 1
    return out
