# wrong: squares and sums in bfloat16: two or three digits of the norm are right.
# shows: norm to 5 digits.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.bfloat16().pow(2).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g *= max_norm / norm
    return norm
