# wrong: takes the histories out of the old table while it works.
# shows: counts after the call.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    while counts:
        history, counter = counts.popitem()
        if len(history) < order:
            new[history] = Counter(counter)
        else:
            new.setdefault(history[1:], Counter()).update(set(counter))
    return new
