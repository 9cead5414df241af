# wrong: returns the scores after the largest was subtracted from them in place; weights and context are right.
# shows: the returned scores, wherever the largest score of a text is not 0.

def dot_attention(query, keys, values):
    scores = (keys * query.unsqueeze(1)).sum(dim=-1)
    scores -= scores.max(dim=-1, keepdim=True).values.detach()
    e = scores.exp()
    weights = e / e.sum(-1, keepdim=True)
    return scores, weights, (weights.unsqueeze(-1) * values).sum(dim=1)
