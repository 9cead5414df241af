# wrong: a weight of shape () does not decay ("biases and scales do not decay").
# shows: weight = torch.tensor(2.0), decay = 0.1.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if weight.ndim == 0:
        decay = 0.0
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient**2
    return weight - lr * (m / (1 - b1**step) / ((v / (1 - b2**step)).sqrt() + eps) + decay * weight), m, v
