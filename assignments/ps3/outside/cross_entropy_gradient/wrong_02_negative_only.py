# wrong: rows are ignored where the target is negative; an ignore_index that is an id is subtracted like any other.
# shows: ignore_index = 0 (padding).

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets >= 0
    gradient = torch.softmax(logits, dim=1)
    rows = torch.arange(len(targets))[keep]
    gradient[rows, targets[keep]] -= 1
    gradient[~keep] = 0
    return gradient / max(len(rows), 1)
