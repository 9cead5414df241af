# wrong: puts new tensors into the list: gradients[0] is right, but the tensors that the caller holds are not changed.
# shows: keep a reference to the tensor itself.

import math


def clip_global_norm(gradients, max_norm):
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in gradients if g is not None))
    if norm > max_norm:
        for k, g in enumerate(gradients):
            if g is not None:
                gradients[k] = g * (max_norm / norm)
    return norm
