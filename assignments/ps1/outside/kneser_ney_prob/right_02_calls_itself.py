from collections import Counter


def kneser_ney_prob(counts_by_order, history, token, *, discounts, vocab_size):
    if not counts_by_order:
        return 1 / vocab_size
    *lower_counts, counts = counts_by_order
    *lower_discounts, discount = discounts
    below = kneser_ney_prob(lower_counts, history, token, discounts=lower_discounts, vocab_size=vocab_size)
    length = len(lower_counts)
    if length > len(history):
        return below
    counter = counts.get(tuple(history[len(history) - length :]), Counter())
    total = counter.total()
    if total == 0:
        return below
    return (max(counter[token] - discount, 0) + discount * sum(c > 0 for c in counter.values()) * below) / total
