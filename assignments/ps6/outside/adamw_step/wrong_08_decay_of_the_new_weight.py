# wrong: the decay is taken from the weight after the step, not before it.
# shows: weight 2, gradient 0.5, lr 0.1, decay 0.1: 1.881 and not 1.88.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    w = weight - lr * m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps)
    return w - lr * decay * w, m, v
