# wrong: remembers the hidden token before, and takes the id 0 for none.
# shows: ids [0, 5], both hidden: two spans instead of one.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before, k = [], [], None, 0
    for token, is_hidden in zip(ids, hidden):
        if not is_hidden:
            inputs.append(token)
            before = None
            continue
        if not before:
            if k >= len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        targets.append(token)
        before = token
    if k >= len(sentinel_ids):
        raise ValueError("too few sentinels")
    return inputs, [*targets, sentinel_ids[k]]
