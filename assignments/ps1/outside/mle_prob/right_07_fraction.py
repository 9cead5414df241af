# right: as an exact fraction, turned into a float at the end; dict.get leaves a defaultdict alone
from fractions import Fraction


def mle_prob(counts, history, token):
    row = counts.get(history)
    return float(Fraction(row.get(token, 0), sum(row.values()))) if row else 0.0
