# wrong: topk instead of a stable sort: of equals it may take any.
# shows: 64 equal probabilities, p = 0.25: not the ids 0 to 15.

import torch


def keep_top_p(probs, p):
    values, places = probs.topk(probs.shape[-1], dim=-1)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)
