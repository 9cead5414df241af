# wrong: the scale is a tensor of torch's default dtype, so a float32 number.
# shows: float64 and alpha 0.1: right to 8 digits only.

import torch
from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    scale = torch.tensor(alpha / len(down))
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    return y + scale * F.linear(F.linear(x, down), up)
