# wrong: a loop over the entries, which the rules of the set forbid (the numbers are right).
# shows: the source; a weight of 100,000 entries takes seconds.

import math

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    out = [torch.empty_like(weight, memory_format=torch.contiguous_format).flatten() for _ in range(3)]
    quads = zip(*(x.flatten().tolist() for x in (weight, gradient, mean, mean_square)))
    for i, (w, g, m, v) in enumerate(quads):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        out[0][i] = w - lr * (m / (1 - b1**step) / (math.sqrt(v / (1 - b2**step)) + eps) + decay * w)
        out[1][i], out[2][i] = m, v
    return tuple(x.reshape(weight.shape) for x in out)
