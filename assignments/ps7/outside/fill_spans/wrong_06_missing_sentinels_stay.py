# wrong: a sentinel without a span stays in the text.
# shows: targets [].


def fill_spans(inputs, targets, sentinel_ids):
    spans, current = {}, []
    for token in targets:
        if token in sentinel_ids:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    return [i for token in inputs for i in spans.get(token, [token])]
