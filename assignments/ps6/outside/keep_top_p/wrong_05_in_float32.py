# wrong: float64 goes through float32 and back.
# shows: float64 with 1e-50 in it, p = 1: it becomes 0; all results have 7 digits only.

import torch


def keep_top_p(probs, p):
    x = probs.float()
    values, places = x.sort(dim=-1, descending=True, stable=True)
    before = values.double().cumsum(dim=-1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(x).scatter(-1, places, values).to(probs.dtype)
