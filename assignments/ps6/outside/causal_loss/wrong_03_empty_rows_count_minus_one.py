# wrong: divides by the sum of lengths - 1, where a row of length 0 counts -1.
# shows: lengths = (3, 0): two predictions, divided by 1.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    total = F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / (lengths - 1).sum().clamp(min=1)
