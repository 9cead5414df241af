# wrong: leaves the thin path out while up is 0: then up never gets a gradient, and LoRA never learns.
# shows: up = 0 with requires_grad, backward: up.grad is None.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    if not up.any():
        return y
    return y + alpha / len(down) * F.linear(F.linear(x, down), up)
