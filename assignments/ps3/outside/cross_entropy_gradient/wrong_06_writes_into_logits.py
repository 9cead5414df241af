# wrong: softmax is written into the caller's logits.
# shows: logits after the call.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    logits.copy_(torch.softmax(logits, dim=1))
    gradient = logits.clone()
    gradient[keep.nonzero()[:, 0], targets[keep]] -= 1
    gradient[~keep] = 0
    return gradient / max(int(keep.sum()), 1)
