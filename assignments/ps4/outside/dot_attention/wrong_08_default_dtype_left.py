# wrong: sets torch's default dtype to that of the query and never sets it back.
# shows: torch.get_default_dtype() after a call with float64.

import torch


def dot_attention(query, keys, values):
    torch.set_default_dtype(query.dtype)
    scores = torch.zeros(keys.shape[:2]) + (keys * query.unsqueeze(1)).sum(dim=2)
    weights = torch.softmax(scores, dim=1)
    context = torch.zeros(query.shape[0], values.shape[2]) + (weights.unsqueeze(2) * values).sum(dim=1)
    return scores, weights, context
