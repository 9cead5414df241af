# right: itertools.groupby.

from itertools import groupby


def hide_spans(ids, hidden, sentinel_ids):
    runs = [(key, [i for i, _ in run]) for key, run in groupby(zip(ids, hidden), key=lambda p: p[1])]
    n = sum(key for key, _ in runs)
    if len(sentinel_ids) <= n:
        raise ValueError(f"{n} spans and the end need {n + 1} sentinels")
    inputs, targets, k = [], [], 0
    for key, run in runs:
        if key:
            inputs += [sentinel_ids[k]]
            targets += [sentinel_ids[k], *run]
            k += 1
        else:
            inputs += run
    return inputs, targets + [sentinel_ids[n]]
