# wrong: merges the first occurrence only... and the one after it.
# shows: three occurrences.

def merge_pair(ids, pair, merged):
    out = list(ids)
    for _ in range(2):
        for i in range(len(out) - 1):
            if (out[i], out[i + 1]) == tuple(pair):
                out[i : i + 2] = [merged]
                break
    return out
