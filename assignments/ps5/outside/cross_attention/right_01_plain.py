import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    def heads(vectors, name):
        return (vectors @ weights[name].T).unflatten(-1, (n_heads, -1)).transpose(1, 2)

    query, key, value = heads(x, "query"), heads(memory, "key"), heads(memory, "value")
    visible = memory_mask[:, None, None, :]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    shares = torch.softmax(scores, dim=-1).masked_fill(~visible, 0.0)
    return (shares @ value).transpose(1, 2).flatten(-2) @ weights["output"].T
