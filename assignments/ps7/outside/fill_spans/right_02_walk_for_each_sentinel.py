# right: one walk through the targets for each sentinel of the text.


def fill_spans(inputs, targets, sentinel_ids):
    sentinels = frozenset(sentinel_ids)

    def span(wanted):
        inside = False
        for token in targets:
            if token in sentinels:
                inside = token == wanted
            elif inside:
                yield token

    filled = []
    for token in inputs:
        filled.extend(span(token) if token in sentinels else (token,))
    return filled
