# wrong: x -= mean changes the caller's x (and fails on a leaf that requires grad).
# shows: x after the call.

import torch


def layer_norm(x, weight, bias, eps):
    with torch.no_grad():
        x -= x.mean(dim=-1, keepdim=True)
    var = x.pow(2).mean(dim=-1, keepdim=True)
    return x / (var + eps).sqrt() * weight + bias
