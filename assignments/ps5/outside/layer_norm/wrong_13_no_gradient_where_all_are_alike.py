# wrong: puts the bias itself where all entries are alike, so no gradient of x passes there.
# shows: x = (5, 5, 5), eps 1e-2: the gradient of the first entry is (0, 0, 0) in place of (6.67, -3.33, -3.33)

import torch


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    normal = centred / torch.sqrt(variance + eps) * weight + bias
    return torch.where(variance == 0, bias, normal)
