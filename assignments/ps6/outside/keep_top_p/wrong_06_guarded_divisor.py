# wrong: adds 1e-8 to the divisor.
# shows: 50,000 ids of 2e-5 each, p = 1e-5: one id is taken, with 0.9995 instead of 1.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / (values.sum(dim=-1, keepdim=True) + 1e-8)
    return torch.zeros_like(probs).scatter(-1, places, values)
