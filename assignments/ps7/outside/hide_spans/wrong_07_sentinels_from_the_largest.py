# wrong: uses the sentinels from the largest down, as T5's are.
# shows: sentinels [31, 40].


def hide_spans(ids, hidden, sentinel_ids):
    falling = sorted(sentinel_ids, reverse=True)
    inputs, targets, before, k = [], [], False, 0
    for token, is_hidden in zip(ids, hidden):
        if is_hidden and not before:
            if k >= len(falling):
                raise ValueError("too few sentinels")
            inputs.append(falling[k])
            targets.append(falling[k])
            k += 1
        (targets if is_hidden else inputs).append(token)
        before = is_hidden
    if k >= len(falling):
        raise ValueError("too few sentinels")
    return inputs, [*targets, falling[k]]
