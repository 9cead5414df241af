from fractions import Fraction


def mle_prob(counts, history, token):
    seen = counts.get(history)
    if not seen:
        return 0.0
    return float(Fraction(seen[token], sum(seen.values())))
