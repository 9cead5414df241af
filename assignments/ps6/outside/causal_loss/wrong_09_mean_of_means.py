# wrong: the mean of the means of the rows.
# shows: lengths = (3, 2).

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    x = x[:, :-1].masked_fill(~counts[..., None], 0.0)
    targets = ids[:, 1:].masked_fill(~counts, 0)
    nats = F.cross_entropy(x.transpose(1, 2), targets, reduction="none") * counts
    rows = counts.any(1)
    return (nats.sum(1) / counts.sum(1).clamp(min=1)).sum() / rows.sum().clamp(min=1)
