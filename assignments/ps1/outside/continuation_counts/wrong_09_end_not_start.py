# wrong: cuts off the LAST token of the history: what stood after, not before.
# shows: order 2 and more.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        key = history if len(history) < order else history[:-1]
        if len(history) < order:
            new[key] = Counter(counter)
        else:
            new.setdefault(key, Counter()).update(counter.keys())
    return new
