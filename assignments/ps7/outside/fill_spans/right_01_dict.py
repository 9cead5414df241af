# right: the hint.


def fill_spans(inputs, targets, sentinel_ids):
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
