# wrong: counter.setdefault(token, 0) writes the token into the caller's Counter, and N1+ grows by one from then on.
# shows: an unseen token; the second call gives another number; the table is changed.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total, kinds = sum(counter.values()), len(counter)
            p = max(counter.setdefault(token, 0) - discounts[n], 0) / total + discounts[n] * kinds / total * p
    return p
