# wrong: a loop over the rows, which the rules forbid (and which has nothing to stack for shape (0, V)).
# shows: the source; logits of shape (0, 5).

import math

import torch


def keep_top_k(logits, k):
    if logits.ndim > 1:
        return torch.stack([keep_top_k(row, k) for row in logits])
    limit = logits.sort(descending=True).values[: max(1, k)][-1]
    return logits.masked_fill(logits < limit, -math.inf)
