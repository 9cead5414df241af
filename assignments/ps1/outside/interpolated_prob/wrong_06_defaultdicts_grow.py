# wrong: counts[h] on a defaultdict adds the unseen history.
# shows: defaultdict tables: their length after the call.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, counts in enumerate(counts_by_order, start=1):
        if len(history) < n - 1:
            continue
        try:
            counter = counts[tuple(history[len(history) - n + 1 :])]
        except KeyError:
            continue
        if counter:
            total += weights[n] * counter[token] / sum(counter.values())
            used += weights[n]
    return total / used
