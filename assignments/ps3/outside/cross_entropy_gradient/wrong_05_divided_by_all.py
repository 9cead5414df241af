# wrong: divides by all rows if an id of the vocabulary is ignored (len(targets)), by those that count if it is negative.
# shows: ignore_index = 0 with some zeros among the targets.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    n = int(keep.sum()) if ignore_index < 0 else len(targets)
    gradient = torch.zeros_like(logits)
    p = torch.softmax(logits[keep], dim=1)
    p[torch.arange(len(p)), targets[keep]] -= 1
    gradient[keep] = p / max(n, 1)
    return gradient
