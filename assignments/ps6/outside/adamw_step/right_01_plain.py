# right: the formulas line by line.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * gradient
    mean_square = beta2 * mean_square + (1 - beta2) * gradient**2
    m_hat = mean / (1 - beta1**step)
    v_hat = mean_square / (1 - beta2**step)
    return weight - lr * (m_hat / (v_hat.sqrt() + eps) + decay * weight), mean, mean_square
