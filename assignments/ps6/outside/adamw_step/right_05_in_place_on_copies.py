# right: in-place operations, on clones.


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    w, m, v = weight.clone(), mean.clone(), mean_square.clone()
    m.mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
    v.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    root = v.div(1 - betas[1] ** step).sqrt_().add_(eps)
    w.sub_(m.div(1 - betas[0] ** step).div_(root).add_(weight, alpha=decay).mul_(lr))
    return w, m, v
