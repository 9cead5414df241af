# wrong: the Counters of short histories are handed on themselves: counting on in the result changes the old counts.
# shows: result[(eos,)]["x"] += 1, then the old table.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) < order:
            new[history] = counter
        else:
            new.setdefault(history[1:], Counter()).update(counter.keys())
    return new
