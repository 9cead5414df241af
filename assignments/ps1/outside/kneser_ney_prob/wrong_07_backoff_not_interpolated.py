# wrong: a seen token gets the discounted part alone; the lower order is asked for unseen tokens only.
# shows: seen tokens; the probabilities sum to less than 1.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        counter = counts.get(history[len(history) - n :]) if n <= len(history) else None
        if counter:
            total = sum(counter.values())
            if token in counter:
                p = (counter[token] - discounts[n]) / total
            else:
                p = discounts[n] * len(counter) / total * p
    return p
