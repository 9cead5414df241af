# right: both running means in one stacked tensor.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    def column(numbers):
        return torch.tensor(numbers, dtype=weight.dtype).reshape(2, *[1] * weight.ndim)

    both = torch.stack([mean, mean_square])
    news = torch.stack([gradient, gradient * gradient])
    both = column(betas) * both + column([1 - b for b in betas]) * news
    top, bottom = both / column([1 - b**step for b in betas])
    w = weight - lr * (top / (bottom.sqrt() + eps) + decay * weight)
    return w, both[0].clone(), both[1].clone()
