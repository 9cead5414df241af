# wrong: F.one_hot without num_classes takes the largest target for the last id: wrong shape where the last id of the vocabulary does not occur.
# shows: targets that do not hold V - 1.

import torch
from torch.nn import functional as F


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    n = keep.sum().clamp(min=1)
    one_hot = F.one_hot(targets.clamp(min=0))
    width = one_hot.shape[1] if one_hot.shape[1] > 1 else logits.shape[1]
    one_hot = F.one_hot(targets.clamp(min=0), width)
    return (torch.softmax(logits, 1) - one_hot) * keep.unsqueeze(1) / n
