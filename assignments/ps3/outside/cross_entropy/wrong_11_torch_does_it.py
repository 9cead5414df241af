# wrong: logsumexp is not allowed (nor the others).
# shows: by reading.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return logits.sum() * 0
    z = logits[keep]
    return (torch.logsumexp(z, dim=1) - z[torch.arange(len(z)), targets[keep]]).mean()
