# a numpy float64 is a float

import numpy as np


def perplexity(log_probs):
    total = np.add.reduce(np.array(log_probs, dtype=np.float64))
    return np.exp(-total / np.size(log_probs))
