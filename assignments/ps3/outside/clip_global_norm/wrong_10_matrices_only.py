# wrong: leaves out the biases: only tensors of two axes and more are counted and clipped if there is a matrix at all.
# shows: a list with a matrix and a vector.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    if any(g.dim() > 1 for g in there):
        there = [g for g in there if g.dim() > 1]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g *= max_norm / norm
    return norm
