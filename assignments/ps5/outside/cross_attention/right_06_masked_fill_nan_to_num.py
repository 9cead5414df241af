# masked_fill gives a gradient of 0 to what it filled, so nan_to_num is right here

def cross_attention(x, memory, memory_mask, weights, n_heads):
    split = lambda y: y.unflatten(-1, (n_heads, -1)).movedim(2, 1)
    q, k, v = split(x @ weights["query"].mT), split(memory @ weights["key"].mT), split(memory @ weights["value"].mT)
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    w = scores.masked_fill(~memory_mask[:, None, None, :], float("-inf")).softmax(dim=-1).nan_to_num(0.0)
    return (w @ v).movedim(1, 2).flatten(2) @ weights["output"].mT
