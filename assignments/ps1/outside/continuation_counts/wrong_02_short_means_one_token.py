# wrong: only histories of ONE token count as short: right for order 2, wrong for order 3, where (eos, w) is short too.
# shows: order 3 and more.

from collections import Counter
from collections import defaultdict


def continuation_counts(counts, order):
    new = defaultdict(Counter)
    for history, counter in counts.items():
        if len(history) == 1 and order > 1:
            new[history] += counter
        else:
            for token in counter:
                new[history[1:]][token] += 1
    return dict(new)
