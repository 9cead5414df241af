from collections import Counter
import itertools


def continuation_counts(counts, order):
    full = [h for h in counts if len(h) == order]
    groups = {}
    for h in full:
        groups.setdefault(h[1:], []).append(counts[h])
    new = {rest: Counter(itertools.chain.from_iterable(group)) for rest, group in groups.items()}
    new.update((h, Counter(c)) for h, c in counts.items() if len(h) < order)
    return new
