# wrong: .view(-1, K) on keys: an error if the keys stand in memory in another order, as after a transpose.
# shows: keys = something.transpose(0, 1) (or any tensor with gaps); contiguous keys are fine.

import torch


def dot_attention(query, keys, values):
    B, S, K = keys.shape
    rows = keys.view(B * S, K)
    asked = query.repeat_interleave(S, dim=0)
    scores = (rows * asked).sum(dim=1).view(B, S)
    weights = torch.softmax(scores, dim=1)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
    return scores, weights, context
