# wrong: divides in float32 and so has 7 digits.
# shows: 1/3 to 12 digits; counts above 2**24.

import numpy as np


def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    c = counts[history]
    return float(np.float32(c[token]) / np.float32(sum(c.values())))
