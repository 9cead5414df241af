# wrong: takes the None out of the caller's list.
# shows: the list after the call.

import math


def clip_global_norm(gradients, max_norm):
    for k in range(len(gradients) - 1, -1, -1):
        if gradients[k] is None:
            del gradients[k]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g *= max_norm / norm
    return norm
