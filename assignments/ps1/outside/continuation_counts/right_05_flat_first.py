from collections import Counter


def continuation_counts(counts, order):
    flat = Counter(
        (history[1:], token) for history, counter in counts.items() if len(history) == order for token in counter.keys()
    )
    new = {history: Counter(dict(counter)) for history, counter in counts.items() if len(history) != order}
    for (history, token), n in flat.items():
        if history not in new:
            new[history] = Counter()
        new[history][token] = n
    return new
