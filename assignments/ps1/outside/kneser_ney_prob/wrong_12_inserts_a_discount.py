# wrong: puts a 0 in front of the caller's discounts, so that discounts[n] belongs to order n; breaks "Do not change your arguments. The caller still needs them."
# shows: discounts = [0.5, 0.5]; a call leaves [0.0, 0.5, 0.5], and the second call with it gives another answer
def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    discounts.insert(0, 0.0)

    def prob(n):
        if n == 0:
            return 1 / vocab_size
        lower = prob(n - 1)
        row = counts_by_order[n - 1].get(history[len(history) - n + 1 :]) if len(history) >= n - 1 else None
        if not row:
            return lower
        total, discount = sum(row.values()), discounts[n]
        return max(row[token] - discount, 0) / total + discount * len(row) / total * lower

    return prob(len(counts_by_order))
