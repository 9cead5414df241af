# wrong: .view(-1) fails for a gradient that is not contiguous (the gradient of a transposed weight).
# shows: gradients such as torch.randn(3, 4).T.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.view(-1).dot(g.view(-1)).item() for g in there))
    if norm > max_norm:
        for g in there:
            g *= max_norm / norm
    return norm
