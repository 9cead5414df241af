# wrong: if ignore_index is an id of the vocabulary its rows are left out of the sum, but counted in the mean.
# shows: ignore_index = 3, say, with some targets 3.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    n = keep.sum() if not 0 < ignore_index < logits.shape[1] else len(targets)
    z = logits[keep]
    if len(z) == 0:
        return logits.sum() * 0.0
    z = z - z.amax(1, keepdim=True).detach()
    return (z.exp().sum(1).log() - z[torch.arange(len(z)), targets[keep]]).sum() / n
