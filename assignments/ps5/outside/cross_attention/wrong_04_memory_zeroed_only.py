# wrong: sets padded MEMORY to 0 and leaves the scores: padding has the score 0 and its share of the weights.
# shows: any padding, unless all real scores are far above 0.

def cross_attention(x, memory, memory_mask, weights, n_heads):
    memory = memory * memory_mask[..., None]
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T
