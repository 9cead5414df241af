# wrong: leaves out the corrections from update 1000 on ("by then they are 1").
# shows: step = 1000, betas = (0.9, 0.9999): 1 - 0.9999**1000 is 0.095.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    b1, b2 = betas
    m = b1 * mean + (1 - b1) * gradient
    v = b2 * mean_square + (1 - b2) * gradient * gradient
    m_hat, v_hat = m, v
    if step < 1000:
        m_hat, v_hat = m / (1 - b1**step), v / (1 - b2**step)
    return weight - lr * (m_hat / (v_hat**0.5 + eps) + decay * weight), m, v
