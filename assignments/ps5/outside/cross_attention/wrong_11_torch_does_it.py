# wrong: torch's scaled_dot_product_attention is not allowed here.
# shows: by reading.

from torch.nn import functional as F


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    blind = ~memory_mask.any(1)
    m = memory_mask | blind[:, None]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=m[:, None, None, :])
    return (out.transpose(1, 2).flatten(2) @ weights["output"].T) * ~blind[:, None, None]
