# wrong: the running sum is float32: borders are off by 1e-8, and in a long line by more.
# shows: u next to a border such as 0.1 (float32 0.1 is above it): u = 0.1 draws the first token.

import numpy as np


def sample(probs, u):
    tokens = [t for t, p in probs.items() if p > 0]
    ends = np.cumsum(np.array([probs[t] for t in tokens], dtype=np.float32))
    place = int(np.searchsorted(ends.astype(np.float64), u, side="right"))
    return tokens[min(place, len(tokens) - 1)]
