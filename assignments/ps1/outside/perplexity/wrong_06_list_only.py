# wrong: log_probs.count and .copy are methods of lists: tuples have no copy, arrays no count.
# shows: a tuple, an array.

import math


def perplexity(log_probs):
    if log_probs.count(-math.inf):
        return math.inf
    values = log_probs.copy()
    total = 0.0
    while values:
        total -= values.pop()
    return math.exp(total / len(log_probs))
