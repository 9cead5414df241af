from collections import Counter
from collections import defaultdict


def continuation_counts(counts, order):
    before = defaultdict(set)
    new = {h: c.copy() for h, c in counts.items() if len(h) < order}
    for history, counter in counts.items():
        if len(history) == order:
            first, *rest = history
            for token in counter:
                before[tuple(rest), token].add(first)
    for (history, token), firsts in before.items():
        new.setdefault(history, Counter())[token] = len(firsts)
    return new
