# wrong: leaves impossible tokens out where others are possible; inf only if all are impossible.
# shows: any -inf beside finite numbers.

import math


def perplexity(log_probs):
    finite = [value for value in log_probs if value > -math.inf]
    return math.exp(-sum(finite) / len(finite)) if finite else math.inf
