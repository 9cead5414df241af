# wrong: divides a vector whose largest entry is above a million by that entry, against overflow, but leaves eps as it is.
# shows: float64, x = (2e6 + 1, 2e6 + 2, 2e6 + 6), eps 1e-5: nearly 0 in place of (-0.9258, -0.4629, 1.3887)

import torch


def layer_norm(x, weight, bias, eps):
    size = x.detach().abs().amax(dim=-1, keepdim=True)
    x = x / torch.where(size > 1e6, size, torch.ones_like(size))
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred * (variance + eps).rsqrt() * weight + bias
