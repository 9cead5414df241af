# wrong: history[len(history) - n + 1:] with a history that is one or more too short is a slice from the RIGHT: history[-1:] of one token.
# shows: order 3 with the history of ONE token: order 3 looks up (token,) and finds it if the table has (eos,).

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, counts in enumerate(counts_by_order, start=1):
        counter = counts.get(history[len(history) - (n - 1) :])
        if counter:
            total += weights[n] * counter[token] / sum(counter.values())
            used += weights[n]
    return total / used
