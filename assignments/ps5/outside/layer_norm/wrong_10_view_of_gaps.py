# wrong: view(-1, D) fails where x has gaps in memory, as after a transpose.
# shows: x.transpose(0, 1) of three axes.

import torch


def layer_norm(x, weight, bias, eps):
    rows = x.view(-1, x.shape[-1])
    d = rows - rows.mean(dim=1, keepdim=True)
    rows = d * torch.rsqrt(d.pow(2).mean(dim=1, keepdim=True) + eps)
    return (rows * weight + bias).view(x.shape)
