import torch


def dot_attention(query, keys, values):
    scores = torch.bmm(keys, query.unsqueeze(2)).squeeze(2)
    weights = scores.softmax(1)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
    return scores, weights, context
