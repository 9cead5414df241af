# wrong: computes the thin path in float32.
# shows: float64: right to 7 digits only.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    thin = F.linear(F.linear(x.float(), down.float()), up.float())
    return y + (alpha / len(down) * thin).to(x.dtype)
