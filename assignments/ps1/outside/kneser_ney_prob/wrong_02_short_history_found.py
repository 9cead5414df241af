# wrong: history[-n:] of a short history is shorter than n, and the tables know short histories, (eos,).
# shows: order 3 with the history (eos,): order 3 must not be consulted.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, (counts, d) in enumerate(zip(counts_by_order, discounts)):
        counter = counts.get(history[-n:] if n else ())
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - d, 0) / total + d * len(counter) / total * p
    return p
