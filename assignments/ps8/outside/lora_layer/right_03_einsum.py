# right: einsum, the scale last.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    rank, _ = down.shape
    thin = torch.einsum("...i,ri->...r", x, down)
    y = torch.einsum("...r,or->...o", thin, up) * (alpha / rank)
    y = y + torch.einsum("...i,oi->...o", x, weight.detach())
    return y if bias is None else y + bias.detach()
