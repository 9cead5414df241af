# wrong: log(p + 1e-30) cannot be more than 69: a target 1000 below the best has the loss 69 (and in float32 no gradient).
# shows: improbable targets.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return (logits * 0).sum()
    p = torch.softmax(logits[keep], dim=1).gather(1, targets[keep].unsqueeze(1))
    return -(p + 1e-30).log().mean()
