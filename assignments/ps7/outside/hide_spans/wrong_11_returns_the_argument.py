# wrong: if nothing is hidden, the caller's own list comes back.
# shows: hide_spans(ids, all False, ...)[0] is ids.


def hide_spans(ids, hidden, sentinel_ids):
    if not sentinel_ids:
        raise ValueError("too few sentinels")
    if True not in hidden:
        return ids, [sentinel_ids[0]]
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            if k >= len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    if k >= len(sentinel_ids):
        raise ValueError("too few sentinels")
    return inputs, [*targets, sentinel_ids[k]]
