# wrong: the corrections are 0-d float64 tensors; a 0-d float32 weight becomes float64.
# shows: every tensor of shape () and float32: the new weight is float64.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = torch.tensor(betas, dtype=torch.float64)
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    quotient = m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps)
    return weight - lr * (quotient + decay * weight), m, v
