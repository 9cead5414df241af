# wrong: clips x at 3 (an odd multiple of pi "is the end as well"), so just beyond the end the rate rises again.
# shows: learning_rate(12, 1.0, 0.2, 4, 9): x = 2, the rate is the peak again.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min((step - n_warmup) / (n_steps - 1 - n_warmup), 3)
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
