# wrong: where the gradient is 0, nothing is done (as in a sparse Adam).
# shows: gradient = 0 with mean = 1: the mean must shrink and the weight must move and decay.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    w = weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight)
    moved = gradient != 0
    return torch.where(moved, w, weight), torch.where(moved, m, mean), torch.where(moved, v, mean_square)
