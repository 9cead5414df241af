# wrong: the discounts are used from the other end.
# shows: discounts that differ (all tests with equal ones are right).

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, (counts, d) in enumerate(zip(counts_by_order, discounts[::-1])):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            p = max(counter[token] - d, 0) / total + d * len(counter) / total * p
    return p
