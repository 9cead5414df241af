# right: three cases.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    if step >= n_steps:
        return final
    x = (step - n_warmup) / (n_steps - 1 - n_warmup)
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
