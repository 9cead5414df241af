# wrong: the token before the first is the last one: hidden[-1].
# shows: first and last token hidden.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, k = [], [], 0
    for i in range(len(ids)):
        if hidden[i] and not hidden[i - 1]:
            if k >= len(sentinel_ids):
                raise ValueError("too few sentinels")
            inputs.append(sentinel_ids[k])
            targets.append(sentinel_ids[k])
            k += 1
        (targets if hidden[i] else inputs).append(ids[i])
    if k >= len(sentinel_ids):
        raise ValueError("too few sentinels")
    return inputs, [*targets, sentinel_ids[k]]
