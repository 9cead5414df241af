# wrong: float64 logits are computed in float32; only the result is cast.
# shows: float64 logits: 7 digits; logits 1e9 and 1e9 + 1 become equal.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    rows = logits[:, :-1][counts].float()
    total = F.cross_entropy(rows, ids[:, 1:][counts], reduction="sum")
    loss = total / counts.sum().clamp(min=1)
    return loss.double() if logits.dtype == torch.float64 else loss
