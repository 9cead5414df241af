# wrong: a loop over the rows, which the rules of the set forbid (loss and gradient are right).
# shows: the source.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    total, count = x[:0].sum(), 0
    for b, n in enumerate(lengths.tolist()):
        if n > 1:
            total = total + F.cross_entropy(x[b, : n - 1], ids[b, 1:n], reduction="sum")
            count += n - 1
    return total / max(count, 1)
