# wrong: k is made a whole number, at least 1.
# shows: fractions of k.

from collections import Counter


def add_k_prob(counts, history, token, *, k, vocab_size):
    k = max(1, round(k))
    counter = counts.get(history, Counter())
    return (counter[token] + k) / (counter.total() + k * vocab_size)
