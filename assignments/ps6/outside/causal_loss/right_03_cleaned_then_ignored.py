# right: what does not count is filled with 0 first (masked_fill stops the gradient), then ignore_index.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    counts = torch.arange(ids.shape[1]) < (lengths - 1)[:, None]
    x = x.masked_fill(~counts[..., None], 0.0)
    targets = torch.where(counts, ids.roll(-1, dims=1), -1)
    nats = F.cross_entropy(x.transpose(1, 2), targets, ignore_index=-1, reduction="none")
    return nats.sum() / counts.sum().clamp(min=1)
