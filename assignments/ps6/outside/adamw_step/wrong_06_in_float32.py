# wrong: computes in float32 and casts back.
# shows: float64 tensors: about 7 digits only (compare with rtol 1e-10); a gradient of 1e-30 has the square 0.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    dtype = weight.dtype
    w, g, m, v = (x.float() for x in (weight, gradient, mean, mean_square))
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g * g
    w = w - lr * (m / (1 - betas[0] ** step) / ((v / (1 - betas[1] ** step)).sqrt() + eps) + decay * w)
    return w.to(dtype), m.to(dtype), v.to(dtype)
