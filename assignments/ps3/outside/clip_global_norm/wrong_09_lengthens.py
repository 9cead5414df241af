# wrong: short gradients are made longer if their norm is below half of max_norm.
# shows: norm < max_norm / 2 (the visible test has exactly half).

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in there))
    if norm > max_norm or 0 < norm < max_norm / 2:
        for g in there:
            g *= max_norm / norm
    return norm
