# wrong: every history that begins with "<eos>" is kept as it is; a full one (eos, w) must lose its eos like any other. The name of eos is fixed besides.
# shows: order 1 with eos "<eos>"; other eos tokens.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if history[0] == "<eos>" and order > 1:
            new[history] = Counter(counter)
        else:
            for token in counter:
                new.setdefault(history[1:], Counter())[token] += 1
    return new
