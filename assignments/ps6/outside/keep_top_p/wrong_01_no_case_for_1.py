# wrong: p = 1 is no special case: where the rounded sum reaches 1 early, the rest is cut off.
# shows: float32 (1.0, 1e-9), p = 1: the second id becomes 0.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
