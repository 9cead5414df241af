# wrong: alpha 0 is taken for "not given".
# shows: alpha 0.0: the thin path counts once instead of not at all.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    rank = down.shape[0]
    alpha = alpha or rank
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    return y + alpha / rank * F.linear(F.linear(x, down), up)
