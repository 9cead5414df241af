import math
import numpy as np


def perplexity(log_probs) -> float:
    values = list(map(float, log_probs))
    if any(math.isinf(v) for v in values):
        return float("inf")
    return float(np.float64(np.exp(-math.fsum(values) / len(values))))
