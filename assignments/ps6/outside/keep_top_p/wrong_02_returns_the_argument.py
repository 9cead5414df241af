# wrong: with p = 1 the argument itself comes back: not new.
# shows: p = 1.0: the result shares memory with probs.

import torch


def keep_top_p(probs, p):
    if p == 1:
        return probs
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.double().cumsum(dim=-1) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
