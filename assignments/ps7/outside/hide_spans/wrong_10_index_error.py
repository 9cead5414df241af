# wrong: too few sentinels end in an IndexError.
# shows: two spans, two sentinels.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    return inputs, [*targets, sentinel_ids[k]]
