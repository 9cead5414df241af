# wrong: a word that the span has already is not added again.
# shows: targets [99, 6, 6]: one 6 instead of two.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, {}
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, {})
        else:
            current[token] = True
    filled = []
    for token in inputs:
        filled += spans.get(token, {}) if token in sentinel_ids else [token]
    return filled
