# wrong: squeeze() without an axis loses every axis of length 1.
# shows: B = 1, S = 1 or M = 1.

import torch


def dot_attention(query, keys, values):
    scores = (keys @ query.unsqueeze(-1)).squeeze()
    weights = torch.softmax(scores, dim=-1)
    context = (weights.unsqueeze(-2) @ values).squeeze()
    return scores, weights, context
