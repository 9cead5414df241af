# wrong: single numbers are clamped to 0.9 max_norm after the common factor: the direction changes where one number is large.
# shows: one number that makes up most of the norm.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g.mul_(max_norm / norm).clamp_(-0.9 * max_norm, 0.9 * max_norm)
    return norm
