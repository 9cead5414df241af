# wrong: sorts the caller's sentinels, in order to look them up by bisection (the text is right).
# shows: sentinel_ids after the call.

from bisect import bisect_left


def fill_spans(inputs, targets, sentinel_ids):
    sentinel_ids.sort()

    def is_sentinel(token):
        place = bisect_left(sentinel_ids, token)
        return place < len(sentinel_ids) and sentinel_ids[place] == token

    spans, current = {}, []
    for token in targets:
        if is_sentinel(token):
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    filled = []
    for token in inputs:
        filled += spans.get(token, []) if is_sentinel(token) else [token]
    return filled
