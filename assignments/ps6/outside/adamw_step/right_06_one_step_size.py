# right: the corrections go into one step size and one eps, the decay into a factor

import math

import torch


def shortfall(beta, step):
    return -math.expm1(step * math.log(beta)) if beta else 1.0


def adamw_step(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    mean = torch.add(gradient * (1 - betas[0]), mean, alpha=betas[0])
    mean_square = torch.addcmul(mean_square * betas[1], gradient, gradient, value=1 - betas[1])
    root = math.sqrt(shortfall(betas[1], step))
    divisor = mean_square.sqrt() + eps * root
    rate = lr * root / shortfall(betas[0], step)
    return torch.addcdiv(weight * (1 - lr * decay), mean, divisor, value=-rate), mean, mean_square
