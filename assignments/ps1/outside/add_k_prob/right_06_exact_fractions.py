# right: the formula in exact fractions; a float k is an exact fraction too
from fractions import Fraction


def add_k_prob(counts, history, token, *, k, vocab_size):
    row, extra = counts.get(history, {}), Fraction(k)
    below = Fraction(sum(row.values())) + extra * vocab_size
    return float((row.get(token, 0) + extra) / below)
