# wrong: with p below 1 it sorts the hundred likeliest ids only; a flat row needs more.
# shows: 400 equally likely ids, p = 0.5: 100 are taken in place of 200

import torch


def keep_top_p(probs, p):
    n = probs.shape[-1]
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    if p < 1:
        ordered, places = ordered[..., :100], places[..., : min(n, 100)]
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.where(before < p, 0)
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, ordered)
