# wrong: takes the smaller side of `down` for the rank, though R may be larger than I.
# shows: I = 1, R = 3: the scale is alpha in place of alpha / 3

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    rank = min(down.shape)
    frozen = F.linear(x, weight.detach(), bias if bias is None else bias.detach())
    return frozen + F.linear(F.linear(x, down), up) * (alpha / rank)
