# wrong: ignore_index leaves the loss alone, but a nan logit at an ignored position gets the gradient nan.
# shows: T = 3, lengths (3, 2), nan at place 1 of the second text (its last id), backward.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    targets = ids[:, 1:].masked_fill(~counts, -100)
    total = F.cross_entropy(x[:, :-1].flatten(0, 1), targets.flatten(), reduction="sum")
    return total / counts.sum().clamp(min=1)
