# wrong: no gradient flows to the bias.
# shows: bias.grad after backward.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    scores = vectors[chosen] @ table.T + bias.detach()
    return F.cross_entropy(scores, targets[chosen], reduction="sum") / chosen.sum().clamp(min=1)
