# right: a running mean that is corrected by each token, infinity met on the way, and the exponential as a product of two halves
import math


def perplexity(log_probs):
    mean = 0.0
    for n, log_prob in enumerate(log_probs, 1):
        if log_prob == -math.inf:
            return math.inf
        mean += (float(log_prob) - mean) / n
    try:
        half = math.exp(-mean / 2)
    except OverflowError:
        return math.inf
    return half * half
