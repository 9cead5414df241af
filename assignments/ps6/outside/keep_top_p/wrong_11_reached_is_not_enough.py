# wrong: an id is taken while the sum before it is at most p: if p is reached exactly, one too many.
# shows: (1/8, 1/2, 1/4, 1/8) with p = 0.75.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill((before > p) & (p < 1), 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
