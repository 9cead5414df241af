# wrong: divides by norm + 1e-6, as torch does (the contract says that it differs).
# shows: norms near 0: norm 2e-6, max_norm 1e-6; float64 in the 7th digit.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum((g * g).sum().item() for g in there))
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in there:
            g.mul_(factor)
    return norm
