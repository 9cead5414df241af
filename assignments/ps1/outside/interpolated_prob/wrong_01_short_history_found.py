# wrong: order n looks up history[-(n-1):], which is SHORTER than n - 1 for a short history, and finds the beginnings of documents, (eos,), in the table.
# shows: order 3 and more, history (eos,): order 3 must be left out though (eos,) is a key of its table.

def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for n, (counts, weight) in enumerate(zip(counts_by_order, weights[1:]), start=1):
        h = history[-(n - 1) :] if n > 1 else ()
        counter = counts.get(h)
        if counter:
            total += weight * counter[token] / sum(counter.values())
            used += weight
    return total / used
