# wrong: takes the sentinels out of the caller's list.
# shows: sentinel_ids after the call.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before = [], [], False
    try:
        for token, is_hidden in zip(ids, hidden):
            if is_hidden and not before:
                sentinel = sentinel_ids.pop(0)
                inputs.append(sentinel)
                targets.append(sentinel)
            (targets if is_hidden else inputs).append(token)
            before = is_hidden
        targets.append(sentinel_ids.pop(0))
    except IndexError:
        raise ValueError("too few sentinels") from None
    return inputs, targets
