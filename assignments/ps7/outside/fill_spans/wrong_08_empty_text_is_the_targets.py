# wrong: an empty text gives what was written, without its sentinels.
# shows: inputs [], targets [99, 6]: [6] instead of [].


def fill_spans(inputs, targets, sentinel_ids):
    if not inputs:
        return [token for token in targets if token not in sentinel_ids]
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled
