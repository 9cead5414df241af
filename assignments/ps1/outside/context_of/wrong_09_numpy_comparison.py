# wrong: np.array(tokens) == eos: tuples become a second axis, mixed tokens become strings.
# shows: tokens that are tuples; numbers beside the eos "<eos>" come back as strings.

import numpy as np


def context_of(tokens, order, eos):
    if len(tokens) == 0:
        return ()
    array = np.array(tokens)
    walls = np.flatnonzero(array == eos)
    start = max(len(array) - order + 1, walls[-1] if len(walls) else 0)
    return tuple(array[start:].tolist())
