# right: tensordot; scales the small vectors before they go up.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    with torch.no_grad():
        W = weight.view_as(weight)
    thin = torch.tensordot(x, down, dims=([-1], [1])) * alpha / down.size(0)
    y = torch.tensordot(x, W.detach(), dims=([-1], [1])) + torch.tensordot(thin, up, ([-1], [1]))
    if bias is None:
        return y
    return y + bias.data
