# wrong: compares with "is": equal ids above 256 (or bytes) may be different objects.
# shows: ids made at run time, such as int("300") or bytes joined afresh.

def merge_pair(ids, pair, merged):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] is pair[0] and ids[i + 1] is pair[1]:
            out.append(merged)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out
