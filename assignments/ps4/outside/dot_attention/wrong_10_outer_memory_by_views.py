# wrong: keys.view(B, K, S) in place of a transpose: same shape, numbers in the wrong order; fails on gaps in memory.
# shows: S > 1 and K > 1 (right only if S = 1 or K = 1).

import torch


def dot_attention(query, keys, values):
    B, S, K = keys.shape
    scores = torch.bmm(query.unsqueeze(1), keys.view(B, K, S)).squeeze(1)
    weights = torch.softmax(scores, dim=-1)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
    return scores, weights, context
