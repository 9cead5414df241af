from fractions import Fraction


def add_k_prob(counts, history, token, *, k, vocab_size):
    k = Fraction(k)
    counter = counts.get(history) or {}
    return float((k + counter.get(token, 0)) / (k * vocab_size + sum(counter.values())))
