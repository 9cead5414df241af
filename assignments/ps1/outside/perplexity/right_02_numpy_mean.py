import numpy as np


def perplexity(log_probs):
    with np.errstate(over="ignore"):
        return float(np.exp(-np.mean(np.asarray(log_probs, dtype=float))))
