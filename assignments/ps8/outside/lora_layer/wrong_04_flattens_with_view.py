# wrong: view, which cannot deal with gaps in memory.
# shows: x = big[:, ::2] with three axes: RuntimeError.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    flat = x.view(-1, x.shape[-1])
    y = F.linear(flat, weight.detach(), None if bias is None else bias.detach())
    y = y + flat @ down.T @ up.T * (alpha / down.shape[0])
    return y.view(*x.shape[:-1], -1) if y.numel() else y.new_zeros(*x.shape[:-1], len(weight))
