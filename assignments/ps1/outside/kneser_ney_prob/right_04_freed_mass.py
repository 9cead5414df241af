# what the discounts free is 1 minus what the seen tokens keep

import math


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1.0 / vocab_size
    for n in range(1, len(counts_by_order) + 1):
        start = len(history) - (n - 1)
        if start < 0:
            return p
        counter, d = counts_by_order[n - 1].get(history[start:]), discounts[n - 1]
        if counter:
            total = sum(counter.values())
            kept = {t: (c - d) / total for t, c in counter.items() if c > 0}
            p = kept.get(token, 0.0) + (1 - math.fsum(kept.values())) * p
    return p
