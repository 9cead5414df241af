# wrong: query /= sqrt(K) changes the caller's query (and fails for a leaf that requires grad).
# shows: compare query before and after; call twice; requires_grad leaf.

import torch


def attend(query, key, value, mask=None):
    query /= key.shape[-1] ** 0.5
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value
