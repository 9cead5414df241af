from collections import Counter
from collections import defaultdict


def continuation_counts(counts: dict, order: int) -> dict:
    new = defaultdict(Counter)
    for history in counts:
        full = len(history) >= order
        key = history[1:] if full else history
        ones = Counter({t: 1 if full else n for t, n in counts[history].items()})
        new[key].update(ones)
    return dict(new)
