# wrong: p above 0.99 counts as 1.
# shows: (0.995, 0.003, 0.002) with p = 0.994: only id 0.

import torch


def keep_top_p(probs, p):
    if p > 0.99:
        return probs / probs.sum(dim=-1, keepdim=True)
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
