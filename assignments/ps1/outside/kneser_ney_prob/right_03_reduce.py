import functools


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    def climb(p, level):
        n, counts, d = level
        seen = counts.get(tuple(history)[len(history) - n :]) if n <= len(history) else None
        if not seen:
            return p
        kept = max(seen.get(token, 0) - d, 0)
        return (kept + d * len(seen) * p) / sum(seen.values())

    levels = zip(range(len(discounts)), counts_by_order, discounts)
    return functools.reduce(climb, levels, 1 / vocab_size)
