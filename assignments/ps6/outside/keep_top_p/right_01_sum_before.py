# right: the sum before, in float64; p = 1 is a case of its own.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.double().cumsum(dim=-1) - values
    if p < 1:
        values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
