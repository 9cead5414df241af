_NOTHING = object()


def merge_pair(ids, pair, merged):
    left, right = pair
    out, waiting = [], _NOTHING
    for i in ids:
        if waiting is not _NOTHING and waiting == left and i == right:
            out.append(merged)
            waiting = _NOTHING
        else:
            if waiting is not _NOTHING:
                out.append(waiting)
            waiting = i
    if waiting is not _NOTHING:
        out.append(waiting)
    return out
