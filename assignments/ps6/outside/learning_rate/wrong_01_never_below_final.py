# wrong: the rate is never below `final`, not even in the warm-up.
# shows: learning_rate(0, 1.0, 0.5, 4, 9) is 0.25, and not 0.5.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return max(final, peak * (step + 1) / n_warmup)
    x = min(1.0, (step - n_warmup) / (n_steps - 1 - n_warmup))
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
