# wrong: the counts of short histories are set to 1 as well.
# shows: order 2, ("eos",): the 3.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        key = history[1:] if len(history) == order else history
        for token in counter:
            new.setdefault(key, Counter())[token] += 1
    return new
