# right: the cosine as the real part of a turn.

import cmath


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step + 1 <= n_warmup:
        return float(peak * ((step + 1) / n_warmup))
    left = max(n_steps - 1 - step, 0) / (n_steps - 1 - n_warmup)
    turn = cmath.exp(1j * cmath.pi * left).real
    return float(final + (peak - final) * (1 - turn) / 2)
