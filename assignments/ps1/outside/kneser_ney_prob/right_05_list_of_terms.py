def kneser_ney_prob(counts_by_order: list, history: tuple, token, *, discounts: list, vocab_size: int) -> float:
    result, share = 0.0, 1.0  # from the highest order down: share is what is left to give
    for n in range(len(counts_by_order), 0, -1):
        if n - 1 > len(history):
            continue
        key = history[len(history) - (n - 1) :] if n > 1 else ()
        counter = counts_by_order[n - 1].get(key)
        if counter:
            total = sum(counter.values())
            if counter[token]:
                result += share * (counter[token] - discounts[n - 1]) / total
            share *= discounts[n - 1] * len(counter) / total
    return result + share / vocab_size
