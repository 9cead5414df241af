# right: the mask as an index; the sum by at least one.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    total = F.cross_entropy(F.linear(vectors[chosen], table, bias), targets[chosen], reduction="sum")
    return total / chosen.sum().clamp(min=1)
