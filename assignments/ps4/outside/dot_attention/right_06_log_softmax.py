import torch


def dot_attention(query, keys, values):
    scores = (query.unsqueeze(-2) @ keys.mT).squeeze(-2)
    weights = torch.log_softmax(scores, dim=-1).exp()
    context = (values.mT @ weights.unsqueeze(-1)).squeeze(-1)
    return (scores, weights, context)
