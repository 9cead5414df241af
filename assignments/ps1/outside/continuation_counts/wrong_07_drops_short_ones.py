# wrong: short histories are left out.
# shows: order 2 and more.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) == order:
            new.setdefault(history[1:], Counter()).update(list(counter))
    return new
