# wrong: if nothing is chosen, the loss knows nothing of the vectors: they get no gradient at all.
# shows: all targets -100, vectors that require a gradient: .grad is None (and backward fails if only they do).

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    if not chosen.any():
        return 0.0 * (table.sum() + bias.sum())
    return F.cross_entropy(vectors[chosen] @ table.T + bias, targets[chosen])
