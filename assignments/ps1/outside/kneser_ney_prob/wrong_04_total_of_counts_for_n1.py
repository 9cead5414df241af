# wrong: N1+ is counted over tokens seen exactly once.
# shows: histories after which a token was seen twice or more.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for n, counts in enumerate(counts_by_order):
        if n > len(history) or history[len(history) - n :] not in counts:
            continue
        counter = counts[history[len(history) - n :]]
        total = sum(counter.values())
        ones = sum(c == 1 for c in counter.values())
        p = max(counter[token] - discounts[n], 0) / total + discounts[n] * ones / total * p
    return p
