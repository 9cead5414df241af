# wrong: of several spans of one sentinel only the last one counts that says something.
# shows: targets [99, 6, 99, 7]: 7 instead of 6, 7.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, None
    for token in targets:
        if token in sentinel_ids:
            current = token
            spans[token] = []
        elif current is not None:
            spans[current].append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled
