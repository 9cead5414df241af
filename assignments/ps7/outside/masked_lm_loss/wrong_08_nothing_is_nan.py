# wrong: the mean of nothing is nan.
# shows: all targets -100.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    return F.cross_entropy(vectors[chosen] @ table.T + bias, targets[chosen])
