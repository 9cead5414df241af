# wrong: 1 - beta ** step is computed in float32, where it loses nearly all digits for a beta near 1.
# shows: float32, betas = (0.9, 0.999999), step = 1: the corrected mean square is off by 5 percent.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = (torch.tensor(b, dtype=weight.dtype) for b in betas)
    m = betas[0] * mean + (1 - betas[0]) * gradient
    v = betas[1] * mean_square + (1 - betas[1]) * gradient**2
    return weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight), m, v
