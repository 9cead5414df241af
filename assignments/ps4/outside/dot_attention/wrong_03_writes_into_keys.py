# wrong: keys is multiplied in place, so the caller's keys are changed (and a leaf that requires grad fails).
# shows: compare keys before and after the call.

import torch


def dot_attention(query, keys, values):
    keys *= query.unsqueeze(1)
    scores = keys.sum(dim=-1)
    weights = torch.softmax(scores, dim=-1)
    return scores, weights, (weights.unsqueeze(-1) * values).sum(1)
