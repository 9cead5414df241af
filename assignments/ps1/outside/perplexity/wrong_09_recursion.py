# wrong: sums by recursion from the right: RecursionError for a thousand tokens.
# shows: long texts.

import math


def perplexity(log_probs):
    def total(i):
        return 0.0 if i == len(log_probs) else log_probs[i] + total(i + 1)

    return math.exp(-total(0) / len(log_probs))
