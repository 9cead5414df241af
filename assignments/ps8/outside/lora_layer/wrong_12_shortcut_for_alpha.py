# ambiguous: with alpha 0 the gradients of down and up are 0 by the formula; here there are none ("Gradients flow to x, down and up").
# wrong: leaves the thin path out if alpha is 0.
# shows: alpha 0.0, only down and up ask for gradients: backward raises, or the gradients are None.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    if alpha == 0:
        return y
    return y + alpha / len(down) * F.linear(F.linear(x, down), up)
