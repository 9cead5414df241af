from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) < order:
            new[history] = Counter(counter)
            continue
        shorter = new.setdefault(history[1:], Counter())
        for token, count in counter.items():
            if count > 0:
                shorter[token] += 1
    return new
