# right: rows and targets chosen by a mask; the sum over at least one.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    total = F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / max(1, int(counts.sum()))
