# wrong: divides by the number of DIFFERENT tokens.
# shows: any token seen twice.

from collections import Counter


def mle_prob(counts, history, token):
    counter = counts.get(history, Counter())
    return counter[token] / len(counter) if counter else 0.0
