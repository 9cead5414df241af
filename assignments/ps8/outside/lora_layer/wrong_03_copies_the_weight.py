# wrong: clone makes a new matrix of the size of weight.
# shows: memory for large I and O.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    frozen_weight = weight.clone().detach()
    frozen_bias = None if bias is None else bias.clone().detach()
    y = F.linear(x, frozen_weight, frozen_bias)
    return y + F.linear(F.linear(x, down), up) * (alpha / len(down))
