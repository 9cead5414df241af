# right: lerp, addcmul, addcdiv; the weight shrinks first.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    beta1, beta2 = betas
    m = mean.lerp(gradient, 1 - beta1)
    v = (mean_square * beta2).addcmul(gradient, gradient, value=1 - beta2)
    divisor = v.sqrt() / (1 - beta2**step) ** 0.5 + eps
    w = (weight * (1 - lr * decay)).addcdiv(m, divisor, value=-lr / (1 - beta1**step))
    return w, m, v
