# wrong: the dot products by a tensor (N, V, D), which is larger than (B, T, V) as soon as N * D > B * T.
# shows: one chosen position of B * T = 100, D = 256, by the largest tensor.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    scores = (vectors[chosen].unsqueeze(1) * table).sum(dim=-1) + bias
    return F.cross_entropy(scores, targets[chosen], reduction="sum") / max(1, len(scores))
