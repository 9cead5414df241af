# wrong: softmax over everything, hidden weights to 0, then divided by their sum (+ 1e-9).
# shows: a hidden score 100 (float32) above all visible ones: visible weights are 0/1e-9 = 0, must sum to 1.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)
    return weights @ value
