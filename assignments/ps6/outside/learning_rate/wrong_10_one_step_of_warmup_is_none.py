# wrong: a warm-up of one update counts as none.
# shows: learning_rate(2, 1.0, 0.0, 1, 4): x is 1/2 (0.5), and not 2/3 (0.25).

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if n_warmup == 1:
        n_warmup = 0
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
