# wrong: returns everything as it was if all gradients are 0, though the means decay and the weights still move.
# shows: gradient 0, mean 0.5, beta 0.9: the mean stays 0.5 in place of 0.45

import torch


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    if not gradient.any():
        return weight.clone(), mean.clone(), mean_square.clone()
    beta_1, beta_2 = betas
    mean = mean * beta_1 + gradient * (1 - beta_1)
    mean_square = mean_square * beta_2 + gradient * gradient * (1 - beta_2)
    root = torch.sqrt(mean_square / (1 - beta_2**step)) + eps
    after = weight * (1 - lr * decay) - lr * mean / (1 - beta_1**step) / root
    return after, mean, mean_square
