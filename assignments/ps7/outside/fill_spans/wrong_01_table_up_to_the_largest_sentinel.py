# wrong: looks ids up in a table that ends at the largest sentinel.
# shows: sentinels [3, 2], an ordinary id 50: IndexError.


def fill_spans(inputs, targets, sentinel_ids):
    is_sentinel = [False] * (max(sentinel_ids) + 1)
    for sentinel in sentinel_ids:
        is_sentinel[sentinel] = True
    spans, current = {}, []
    for token in targets:
        if is_sentinel[token]:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if is_sentinel[token] else [token]
    return filled
