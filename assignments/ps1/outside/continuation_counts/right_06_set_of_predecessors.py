# right: collects a set of predecessors for each n-gram, and takes their sizes
from collections import Counter, defaultdict


def continuation_counts(counts, order):
    before, result = defaultdict(set), {}
    for history in counts:
        if len(history) == order:
            first, *rest = history
            for token in counts[history]:
                before[tuple(rest), token].add(first)
        else:
            result[history] = Counter(dict(counts[history]))
    for (rest, token), seen in before.items():
        result.setdefault(rest, Counter())[token] += len(seen)
    return result
