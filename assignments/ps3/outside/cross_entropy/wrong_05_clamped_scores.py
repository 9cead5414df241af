# wrong: scores are clamped to +-5000 first: those beyond are alike, and have no gradient.
# shows: scores of 10,000 and 20,000.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    z = logits[keep].clamp(-5000, 5000)
    if z.shape[0] == 0:
        return logits.sum() * 0.0
    z = z - z.amax(1, keepdim=True).detach()
    return (z.exp().sum(1).log() - z[torch.arange(len(z)), targets[keep]]).mean()
