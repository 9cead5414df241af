def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    p = 1 / vocab_size
    for length, (counts, discount) in enumerate(zip(counts_by_order, discounts)):
        if length > len(history):
            break
        counter = counts.get(history[len(history) - length :])
        if not counter:
            continue
        total = sum(counter.values())
        p = max(counter[token] - discount, 0) / total + discount * len(counter) / total * p
    return p
