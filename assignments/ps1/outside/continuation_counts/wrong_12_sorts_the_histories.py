# wrong: sorts the histories to group them; Python cannot sort numbers among strings or tuples; breaks "other kinds of token. A token may be a string, a number or a tuple."
# shows: continuation_counts({("<eos>",): Counter({3: 1}), (3,): Counter({"<eos>": 1})}, 1) raises a TypeError
from collections import Counter
from itertools import groupby


def continuation_counts(counts, order):
    starts = {history: Counter(row) for history, row in counts.items() if len(history) < order}
    full = sorted((h for h in counts if len(h) == order), key=lambda h: (h[1:], h[0]))
    for rest, group in groupby(full, key=lambda h: h[1:]):
        row = Counter()
        for history in group:
            row.update(list(counts[history]))
        starts[rest] = row
    return starts
