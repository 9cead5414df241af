import numpy as np


import statistics


def perplexity(log_probs):
    values = [float(v) for v in log_probs]
    if min(values) == float("-inf"):
        return float("inf")
    return float(np.exp(-statistics.fmean(values)))
