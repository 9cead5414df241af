# wrong: flattens with `view`, which cannot deal with gaps in memory.
# shows: probs of shape (2, 3, 4) that are a transposed view: RuntimeError.

import torch


def keep_top_p(probs, p):
    rows = probs.view(-1, probs.shape[-1])
    values, places = rows.sort(dim=1, descending=True, stable=True)
    before = values.cumsum(dim=1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / values.sum(dim=1, keepdim=True)
    return torch.zeros_like(rows).scatter(1, places, values).view(probs.shape)
