# wrong: "if not log_probs" is an error for an array of several numbers.
# shows: a NumPy array of two or more.

import math


def perplexity(log_probs):
    if not log_probs:
        return 1.0
    return math.exp(-sum(log_probs) / len(log_probs))
