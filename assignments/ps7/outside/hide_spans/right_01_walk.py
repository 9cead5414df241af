# right: the hint.


def hide_spans(ids, hidden, sentinel_ids):
    inputs, targets, before, sentinels = [], [], False, iter(sentinel_ids)
    try:
        for token, is_hidden in zip(ids, hidden):
            if is_hidden and not before:
                inputs.append(next(sentinels))
                targets.append(inputs[-1])
            (targets if is_hidden else inputs).append(token)
            before = is_hidden
        targets.append(next(sentinels))
    except StopIteration:
        raise ValueError("too few sentinels") from None
    return inputs, targets
