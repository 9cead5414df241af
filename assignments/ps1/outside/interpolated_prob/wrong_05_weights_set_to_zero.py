# wrong: sets the weights of orders without opinion to 0 in the caller's list.
# shows: weights after the call.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total = weights[0] / vocab_size
    for n, counts in enumerate(counts_by_order, start=1):
        h = tuple(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if h in counts:
            total += weights[n] * counts[h][token] / sum(counts[h].values())
        else:
            weights[n] = 0.0
    return total / sum(weights)
