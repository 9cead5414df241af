# wrong: builds the list of all rates in each call.
# shows: n_steps = 10**9: minutes and gigabytes; a run of n steps asks n times, so n * n.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    rates = [peak * (i + 1) / n_warmup for i in range(n_warmup)]
    n = n_steps - 1 - n_warmup
    rates += [final + (peak - final) * (1 + math.cos(math.pi * i / n)) / 2 for i in range(n + 1)]
    return rates[step] if step < n_steps else final
