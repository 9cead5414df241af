# the logarithm of the sum of exponentials, folded column by column

import torch
import functools


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor, ignore_index: int) -> torch.Tensor:
    mask = targets != ignore_index
    rows = logits[mask]
    if not rows.shape[0]:
        return logits.mul(0).sum()
    total = functools.reduce(torch.logaddexp, rows.unbind(dim=1))
    chosen = rows[range(rows.shape[0]), targets[mask]]
    return torch.mean(total - chosen)
