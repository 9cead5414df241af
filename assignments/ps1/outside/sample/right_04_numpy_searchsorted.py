import numpy as np


def sample(probs, u):
    tokens = [t for t, p in probs.items() if p > 0]
    ends = np.cumsum([probs[t] for t in tokens])
    place = np.searchsorted(ends, u, side="right")
    return tokens[min(int(place), len(tokens) - 1)]
