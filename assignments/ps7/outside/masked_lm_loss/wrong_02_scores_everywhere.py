# wrong: empties the other vectors, but computes the scores of all positions.
# shows: the largest tensor: B = 64, T = 512, V = 30,000 with one chosen position.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    x = vectors.masked_fill(~chosen.unsqueeze(-1), 0.0)
    scores = (x @ table.T + bias).flatten(0, 1)
    total = F.cross_entropy(scores, targets.flatten(), ignore_index=-100, reduction="sum")
    return total / chosen.sum().clamp(min=1)
