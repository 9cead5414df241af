# wrong: beyond the last update the rate is 0, and without a final rate it is never asked.
# shows: learning_rate(9, 1.0, 0.2, 4, 9) is 0.2, and not 0.0.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step >= n_steps:
        return 0.0
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    return final + (peak - final) * (1 + math.cos(math.pi * (step - n_warmup) / (n_steps - 1 - n_warmup))) / 2
