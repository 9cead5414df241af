# wrong: with lr = 0 the arguments themselves come back: not new, and the means stand still.
# shows: lr = 0.0, a gradient unlike the mean: the mean must be updated; the weights must share no memory with `weight`.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if lr == 0:
        return weight, mean, mean_square
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    return weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight), m, v
