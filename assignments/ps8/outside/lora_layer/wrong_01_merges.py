# wrong: makes the whole product and adds it to the matrix, which the contract forbids.
# shows: the source; memory for large I and O.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    merged = weight.detach() + alpha / down.shape[0] * up @ down
    return F.linear(x, merged, None if bias is None else bias.detach())
