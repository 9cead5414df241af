# the largest number is taken out first, so that no square overflows

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None and g.numel()]
    top = max((g.abs().max().item() for g in there), default=0.0)
    if top == 0:
        return 0.0
    norm = top * math.sqrt(sum((g / top).square().sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g[...] = g * (max_norm / norm)
    return norm
