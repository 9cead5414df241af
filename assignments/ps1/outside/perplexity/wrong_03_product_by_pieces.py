# wrong: multiplies the probabilities, 100 at a time, and takes roots: one piece of very improbable tokens is 0.
# shows: tokens of probability 1e-10: 1e-1000 is 0, the result inf.

import math


def perplexity(log_probs):
    n, result = len(log_probs), 1.0
    for start in range(0, n, 100):
        product = 1.0
        for value in log_probs[start : start + 100]:
            product *= math.exp(value)
        if product == 0:
            return math.inf
        result *= product ** (-1 / n)
    return result
