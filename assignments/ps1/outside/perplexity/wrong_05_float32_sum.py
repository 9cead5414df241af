# wrong: sums in float32, one after the other: in a text of a hundred thousand tokens the small numbers get lost.
# shows: 100,000 tokens (error in the 4th to 6th digit).

import numpy as np


def perplexity(log_probs):
    total = np.float32(0)
    for value in log_probs:
        total += np.float32(value)
    return float(np.exp(-float(total) / len(log_probs)))
