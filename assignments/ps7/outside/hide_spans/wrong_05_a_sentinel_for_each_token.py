# wrong: every hidden token is a span of its own.
# shows: two hidden tokens side by side.


def hide_spans(ids, hidden, sentinel_ids):
    if len(sentinel_ids) < sum(hidden) + 1:
        raise ValueError("too few sentinels")
    inputs, targets, k = [], [], 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden:
            inputs.append(sentinel_ids[k])
            targets += [sentinel_ids[k], token]
            k += 1
        else:
            inputs.append(token)
    return inputs, [*targets, sentinel_ids[k]]
