# wrong: the correction by expm1 and log, which fails for a beta of 0.
# shows: betas = (0.0, 0.999): ValueError: math domain error.

import math


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient.square()
    c1, c2 = (-math.expm1(step * math.log(b)) for b in betas)
    return weight - lr * (m / c1 / ((v / c2).sqrt() + eps) + decay * weight), m, v
