# wrong: freezes by requires_grad_(False) on the caller's tensors.
# shows: weight.requires_grad is False after the call (and a weight that is no leaf raises a RuntimeError).

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    weight.requires_grad_(False)
    if bias is not None:
        bias.requires_grad_(False)
    return F.linear(x, weight, bias) + alpha / len(down) * F.linear(F.linear(x, down), up)
