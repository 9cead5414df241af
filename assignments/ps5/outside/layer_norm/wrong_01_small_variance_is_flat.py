# wrong: a vector with a variance below eps is taken for one "whose entries are all alike": it gives the bias.
# shows: small vectors such as 0.001 * (1, 2, 6) with eps 1e-5 (the formula gives about half of the full size), and their gradients.

import torch


def layer_norm(x, weight, bias, eps):
    d = x - x.mean(dim=-1, keepdim=True)
    var = (d * d).mean(dim=-1, keepdim=True)
    y = d / torch.sqrt(var + eps) * weight + bias
    return torch.where(var < eps, bias.expand_as(x), y)
