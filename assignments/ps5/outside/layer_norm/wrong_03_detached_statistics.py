# wrong: mean and variance are taken as constants: values right, gradient of x wrong.
# shows: x.grad against autograd of the formula (finite differences).

import torch


def layer_norm(x, weight, bias, eps):
    fixed = x.detach()
    mean = fixed.mean(-1, keepdim=True)
    var = fixed.var(-1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias
