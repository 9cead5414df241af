# wrong: np.asarray makes no copy of an array, so `*=` turns the caller's numbers round; breaks "Do not change your arguments."
# shows: a = np.array([-1.0, -2.0]); perplexity(a) leaves a == [1.0, 2.0], and a second call gives another answer
import numpy as np


def perplexity(log_probs):
    surprises = np.asarray(log_probs, dtype=float)
    surprises *= -1
    with np.errstate(over="ignore"):
        return float(np.exp(surprises.mean()))
