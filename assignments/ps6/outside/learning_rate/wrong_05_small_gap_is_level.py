# wrong: if peak and final are within 1e-4, the rate is held level.
# shows: learning_rate(9, 6e-5, 6e-6, 2, 10) is 6e-06, and not 6e-05.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    if math.isclose(peak, final, abs_tol=1e-4):
        return peak
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
