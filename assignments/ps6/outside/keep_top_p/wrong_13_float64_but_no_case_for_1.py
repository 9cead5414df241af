# wrong: sums in float64, but p = 1 is no special case: what lies behind a sum of 1 is cut off.
# shows: float32 (1.0, 1e-9), p = 1: the second id becomes 0.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    sums = values.double().cumsum(dim=-1)
    needed = (sums < p).sum(dim=-1, keepdim=True)
    values = torch.where(torch.arange(probs.shape[-1]) <= needed, values, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
