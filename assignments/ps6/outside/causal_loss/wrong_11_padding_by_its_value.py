# wrong: finds padding by its value: everything outside 0 .. V - 1, and zeros after the last other id.
# shows: a text that ends with a real 0 and has length T; padding with 1.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    real = (ids >= 0) & (ids < x.shape[-1])
    counts = real[:, 1:] & (ids[:, 1:].flip(1).cumsum(1).flip(1) != 0)
    total = F.cross_entropy(x[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / counts.sum().clamp(min=1)
