# wrong: flattens with `view`, which cannot deal with gaps in memory.
# shows: weight = torch.arange(6.).reshape(2, 3).T (a RuntimeError); right on contiguous tensors.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    shape = weight.shape
    w, g, m, v = (x.view(-1) for x in (weight, gradient, mean, mean_square))
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    top = m / (1 - betas[0] ** step)
    bottom = (v / (1 - betas[1] ** step)).sqrt() + eps
    w = w - lr * (top / bottom + decay * w)
    return w.view(shape), m.view(shape), v.view(shape)
