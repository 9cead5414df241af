# wrong: gradient.data = ... gives the tensor other memory: the caller's tensor looks right, but what shares its memory (a view, a flat buffer of all gradients) keeps the old numbers.
# shows: gradients that are views of one flat tensor: look at the flat one.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum((g * g).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g.data = g.data * (max_norm / norm)
    return norm
