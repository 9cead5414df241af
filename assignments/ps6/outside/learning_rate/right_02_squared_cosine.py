# right: (1 + cos a) / 2 is cos² (a / 2); a convex combination.

import math


def learning_rate(step, peak, final, n_warmup, n_steps):
    if n_warmup > step:
        return (step + 1) / n_warmup * peak
    done = min(step, n_steps - 1) - n_warmup
    share = math.cos(math.pi / 2 * done / (n_steps - n_warmup - 1)) ** 2
    return share * peak + (1 - share) * final
