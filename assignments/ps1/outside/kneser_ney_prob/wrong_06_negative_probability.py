# wrong: without max(..., 0): an unseen token gets a negative part (the sum over the seen ones hides it).
# shows: unseen tokens.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = (counter[token] - discounts[n] + discounts[n] * len(counter) * p) / total
    return p
