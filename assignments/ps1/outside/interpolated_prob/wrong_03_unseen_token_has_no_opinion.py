# wrong: an order that saw the history but not the token is left out too.
# shows: token never seen after a seen history; the probabilities sum to more than 1.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, counts in enumerate(counts_by_order, start=1):
        if len(history) < n - 1:
            continue
        counter = counts.get(history[len(history) - n + 1 :])
        if counter and (token in counter or n == 1):
            total += weights[n] * counter[token] / sum(counter.values())
            used += weights[n]
    return total / used
