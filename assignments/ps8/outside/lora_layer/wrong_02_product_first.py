# wrong: the frozen path is apart, but up @ down is made.
# shows: the source; memory for large I and O.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    return y + F.linear(x, up @ down) * (alpha / len(down))
