# wrong: one call inside the other for each token of the text; Python's stack is too short.
# shows: a text of 2000 tokens: RecursionError.


def fill_spans(inputs, targets, sentinel_ids):
    if not inputs:
        return []
    token, *rest = inputs
    if token not in sentinel_ids:
        return [token, *fill_spans(rest, targets, sentinel_ids)]
    span, inside = [], False
    for i in targets:
        if i in sentinel_ids:
            inside = i == token
        elif inside:
            span.append(i)
    return span + fill_spans(rest, targets, sentinel_ids)
