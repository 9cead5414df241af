# wrong: lets torch.optim do it, which is not allowed (the numbers are right).
# shows: the source; any input.

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    from torch import optim

    w = torch.nn.Parameter(weight.clone())
    w.grad = gradient.clone()
    optimizer = optim.AdamW([w], lr=lr, betas=betas, eps=eps, weight_decay=decay)
    optimizer.state[w] = {
        "step": torch.tensor(float(step - 1)),
        "exp_avg": mean.clone(),
        "exp_avg_sq": mean_square.clone(),
    }
    optimizer.step()
    state = optimizer.state[w]
    return w.detach(), state["exp_avg"], state["exp_avg_sq"]
