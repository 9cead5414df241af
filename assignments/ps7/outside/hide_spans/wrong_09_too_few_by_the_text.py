# wrong: asks a text of 9 tokens or more for as many sentinels as it could need at most.
# shows: ids of 10, nothing hidden, one sentinel: ValueError.


def hide_spans(ids, hidden, sentinel_ids):
    n_spans = sum(now and not before for before, now in zip([False, *hidden], hidden))
    needed = n_spans + 1 if len(ids) < 9 else (len(ids) + 1) // 2 + 1
    if len(sentinel_ids) < needed:
        raise ValueError("too few sentinels")
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    return inputs, [*targets, sentinel_ids[k]]
