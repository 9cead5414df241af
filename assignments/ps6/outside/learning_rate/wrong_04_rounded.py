# wrong: the result is rounded to 6 decimals.
# shows: learning_rate(0, 3e-4, 0.0, 2000, 10000) is 1.5e-07, and not 0.0.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        rate = peak * (step + 1) / n_warmup
    else:
        x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
        rate = final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
    return round(rate, 6)
