# wrong: the mean of 1/p, not the exponential of the mean.
# shows: probabilities that differ.

import math


def perplexity(log_probs):
    return sum(math.exp(-v) for v in log_probs) / len(log_probs)
