# wrong: 2 to the power of nats.
# shows: everywhere but at 0.

import numpy as np


def perplexity(log_probs):
    return float(2 ** -np.mean(log_probs))
