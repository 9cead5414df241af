# wrong: eps is added to the ROOT with a where for alike entries; the gradient of sqrt at 0 is infinite: nan.
# shows: gradients of a vector whose entries are all alike; also eps stands outside the root.

import torch


def layer_norm(x, weight, bias, eps):
    d = x - x.mean(-1, keepdim=True)
    root = d.pow(2).mean(-1, keepdim=True).sqrt()
    return torch.where(root == 0, torch.zeros_like(d), d / (root + eps)) * weight + bias
