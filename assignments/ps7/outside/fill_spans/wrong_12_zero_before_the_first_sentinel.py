# wrong: collects what stands before the first sentinel under 0, which may be a sentinel.
# shows: inputs [0, 7], targets [5, 6], sentinels [0]: [5, 6, 7] in place of [7]

def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {0: []}, 0
    for token in targets:
        if token in sentinel_ids:
            current = token
            spans.setdefault(current, [])
        else:
            spans[current].append(token)
    filled = []
    for token in inputs:
        filled.extend(spans.get(token, []) if token in sentinel_ids else [token])
    return filled
