# wrong: no_grad for the frozen path, so x gets no gradient through it.
# shows: the gradient of x.

import torch
from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    with torch.no_grad():
        y = F.linear(x, weight, bias)
    return y + alpha / len(down) * F.linear(F.linear(x, down), up)
