# right: a regular expression over a string of marks.

import re


def hide_spans(ids, hidden, sentinel_ids):
    marks = "".join("x" if h else "." for h in hidden)
    spans = [m.span() for m in re.finditer("x+", marks)]
    if len(spans) >= len(sentinel_ids):
        raise ValueError("not enough")
    inputs, targets = list(ids), []
    for (a, b), sentinel in reversed(list(zip(spans, sentinel_ids))):
        targets[:0] = [sentinel, *ids[a:b]]
        inputs[a:b] = [sentinel]
    return inputs, [*targets, sentinel_ids[len(spans)]]
