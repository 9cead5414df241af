# wrong: adds the counts, not 1 for each predecessor.
# shows: any pair seen twice.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        key = history if len(history) < order else history[1:]
        new[key] = new.get(key, Counter()) + counter
    return new
