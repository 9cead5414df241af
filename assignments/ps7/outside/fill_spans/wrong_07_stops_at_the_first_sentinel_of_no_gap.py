# wrong: stops reading at a sentinel that the text does not have: "this is the end".
# shows: targets [97, 2, 99, 6]: the 6 is missing.


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            if token not in inputs:
                break
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if token in sentinel_ids else [token]
    return filled
