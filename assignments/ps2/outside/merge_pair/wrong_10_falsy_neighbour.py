# wrong: the id 0 (and b"") is taken for "nothing waiting" and gets lost.
# shows: a 0 in the list.

def merge_pair(ids, pair, merged):
    out, waiting = [], None
    for i in ids:
        if waiting is not None and (waiting, i) == tuple(pair):
            out.append(merged)
            waiting = None
            continue
        if waiting:
            out.append(waiting)
        waiting = i
    return out + ([waiting] if waiting is not None else [])
