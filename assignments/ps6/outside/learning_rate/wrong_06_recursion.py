# wrong: each step asks for the one before it; Python's stack is too short.
# shows: learning_rate(5000, 1.0, 0.1, 10, 10000): RecursionError.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    if step == n_warmup:
        return float(peak)
    before = learning_rate(step - 1, peak, final, n_warmup, n_steps)
    if step >= n_steps:
        return before
    turn = math.pi / (n_steps - 1 - n_warmup)
    i = step - n_warmup
    return before + (peak - final) * (math.cos(turn * i) - math.cos(turn * (i - 1))) / 2
