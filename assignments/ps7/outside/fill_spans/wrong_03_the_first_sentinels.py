# wrong: takes the sentinels of the text to be the first ones of the list, as hide_spans leaves them.
# shows: inputs [5, 98], targets [98, 4], sentinels [99, 98, 97]: the 4 is missing.


def fill_spans(inputs, targets, sentinel_ids):
    n = sum(token in sentinel_ids for token in inputs)
    spans = {sentinel: [] for sentinel in sentinel_ids[:n]}
    current = []
    for token in targets:
        if token in sentinel_ids:
            current = spans.get(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled
