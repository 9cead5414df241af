# right: three F.linear, the frozen ones detached.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    frozen = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    return frozen + alpha / down.shape[0] * F.linear(F.linear(x, down), up)
