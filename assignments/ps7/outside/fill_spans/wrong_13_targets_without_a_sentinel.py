# wrong: looks for the first sentinel of the targets and fails if there is none.
# shows: targets [3, 4], sentinels [99]: StopIteration

def fill_spans(inputs, targets, sentinel_ids):
    known, spans = set(sentinel_ids), {}
    if targets:
        start = next(n for n, token in enumerate(targets) if token in known)
        for token in targets[start:]:
            if token in known:
                span = spans.setdefault(token, [])
            else:
                span.append(token)
    return [t for token in inputs for t in (spans.get(token, []) if token in known else [token])]
