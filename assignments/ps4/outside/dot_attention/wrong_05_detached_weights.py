# wrong: the weights are detached before the context is formed: no gradient from the context to query and keys.
# shows: context.sum().backward(), then query.grad is None.

from torch.nn import functional as F


def dot_attention(query, keys, values):
    scores = (keys * query[:, None]).sum(-1)
    weights = F.softmax(scores, -1)
    context = (weights.detach()[..., None] * values).sum(1)
    return scores, weights, context
