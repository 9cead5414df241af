# wrong: the last weight belongs to order 1, the first order weight to N.
# shows: N >= 2 with different weights.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, (counts, weight) in enumerate(zip(counts_by_order, reversed(weights)), start=1):
        counter = counts.get(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if counter:
            total += weight * counter[token] / sum(counter.values())
            used += weight
    return total / used
