# wrong: np.asarray does not copy an array: the caller's log probabilities change their sign.
# shows: a float64 array as argument, compared before and after.

import numpy as np


def perplexity(log_probs):
    surprise = np.asarray(log_probs, dtype=np.float64)
    surprise *= -1
    return float(np.exp(surprise.mean()))
