# right: gives each written token its owner first.

from itertools import accumulate


def fill_spans(inputs, targets, sentinel_ids):
    all_sentinels = set(sentinel_ids)
    marks = (t if t in all_sentinels else None for t in targets)
    owners = accumulate(marks, lambda owner, mark: owner if mark is None else mark)
    written = [(o, t) for o, t in zip(owners, targets) if o is not None and t not in all_sentinels]
    return [
        i
        for token in inputs
        for i in ([t for o, t in written if o == token] if token in all_sentinels else [token])
    ]
