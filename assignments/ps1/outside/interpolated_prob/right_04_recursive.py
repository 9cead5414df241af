def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    def sums(n):
        if n == 0:
            return weights[0] / vocab_size, weights[0]
        total, used = sums(n - 1)
        if n - 1 <= len(history):
            counter = counts_by_order[n - 1].get(tuple(history[len(history) - n + 1 :]))
            if counter:
                return total + weights[n] * counter[token] / sum(counter.values()), used + weights[n]
        return total, used

    total, used = sums(len(counts_by_order))
    return total / used
