# wrong: the weight of an order without opinion goes to the uniform distribution (sums to 1 as well).
# shows: an unseen history.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    rest, total = weights[0], 0.0
    for n, counts in enumerate(counts_by_order, start=1):
        counter = counts.get(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if counter:
            total += weights[n] * counter[token] / sum(counter.values())
        else:
            rest += weights[n]
    return total + rest / vocab_size
