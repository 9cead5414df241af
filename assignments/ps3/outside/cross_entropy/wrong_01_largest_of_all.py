# wrong: subtracts the largest score of ALL rows: a row far below it has only exponentials of 0, and log 0 = -inf.
# shows: two rows whose scores differ by more than 100 (float32) or 750 (float64).

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    z, t = logits[keep], targets[keep]
    if len(t) == 0:
        return logits.sum() * 0
    z = z - z.max().detach()
    return (z.exp().sum(dim=1).log() - z[torch.arange(len(t)), t]).mean()
