# wrong: D_1 is used at every order.
# shows: discounts that differ.

def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    def at(n):
        if n == 0:
            return 1 / vocab_size
        lower = at(n - 1)
        if len(history) < n - 1:
            return lower
        counter = counts_by_order[n - 1].get(history[len(history) - n + 1 :])
        if not counter:
            return lower
        total = sum(counter.values())
        return max(counter[token] - discounts[0], 0) / total + discounts[0] * len(counter) / total * lower

    return at(len(counts_by_order))
