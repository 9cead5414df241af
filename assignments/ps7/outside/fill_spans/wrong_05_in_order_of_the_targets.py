# wrong: the spans are put in by their order, not by their sentinels.
# shows: targets [98, 4, 99, 6].


def fill_spans(inputs, targets, sentinel_ids):
    spans = []
    for token in targets:
        if token in sentinel_ids:
            spans.append([])
        elif spans:
            spans[-1].append(token)
    queue, filled = iter(spans), []
    for token in inputs:
        filled += next(queue, []) if token in sentinel_ids else [token]
    return filled
