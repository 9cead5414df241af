import math


def perplexity(log_probs):
    mean = 0.0
    for n, value in enumerate(log_probs, start=1):
        if value == -math.inf:
            return math.inf
        mean += (value - mean) / n
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf
