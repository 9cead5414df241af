# wrong: torch's var divides by D - 1; hidden for D large, nan for D = 1.
# shows: small D, above all D = 1.

import torch


def layer_norm(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + eps) * weight + bias
