# right: the last step stands for all that follow; the smaller of line and peak.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    step = min(step, n_steps - 1)
    line = peak * min(1.0, (step + 1) / max(n_warmup, 1))
    if step < n_warmup:
        return line
    angle = math.pi * (step - n_warmup) / (n_steps - 1 - n_warmup)
    return final + (peak - final) / 2 + (peak - final) / 2 * math.cos(angle)
