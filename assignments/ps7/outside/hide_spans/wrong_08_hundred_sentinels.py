# wrong: counts on T5's hundred sentinels: more spans are an error, even if there are sentinels enough.
# shows: 150 spans and 200 sentinels: ValueError.


def hide_spans(ids, hidden, sentinel_ids):
    sentinels = iter(sentinel_ids[:100])
    inputs, targets, before = [], [], False
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
