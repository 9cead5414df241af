# wrong: works with the fraction final / peak.
# shows: peak = final = 0.0: ZeroDivisionError instead of 0.0.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    fraction = final / peak
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return peak * (fraction + (1 - fraction) * (1 + math.cos(math.pi * x)) / 2)
