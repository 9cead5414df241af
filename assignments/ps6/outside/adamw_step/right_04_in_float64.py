# right: computes in float64, casts the three results at the end.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    w, g, m, v = (x.double() for x in (weight, gradient, mean, mean_square))
    (a, b), dtype = betas, weight.dtype
    m = g - a * g + a * m
    v = (1 - b) * g * g + v * b
    w = w * (1 - lr * decay) - lr * (m / (1 - a**step)) / (eps + (v / (1 - b**step)) ** 0.5)
    return w.to(dtype), m.to(dtype), v.to(dtype)
