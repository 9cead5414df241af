def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for length, counts in enumerate(counts_by_order):
        if length > len(history):
            break
        counter = counts.get(history[len(history) - length :])
        if counter:
            total += weights[length + 1] * counter[token] / sum(counter.values())
            used += weights[length + 1]
    return total / used
