# wrong: divides by N - 1 for N > 1.
# shows: N > 1.

import math


def perplexity(log_probs):
    return math.exp(-sum(log_probs) / max(len(log_probs) - 1, 1))
