from collections import Counter


def mle_prob(counts: dict, history: tuple, token) -> float:
    hits = total = 0
    for other, count in (counts.get(history) or Counter()).items():
        total += count
        if other == token:
            hits += count
    return hits / (total or 1) * 1.0
