# wrong: divides by the root of M / n_heads, not of D / n_heads.
# shows: M != D.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    m = memory_mask[:, None, None, :]
    s = (q @ k.mT / (memory.shape[-1] / n_heads) ** 0.5).masked_fill(~m, torch.finfo(x.dtype).min)
    return ((s.softmax(-1) * m) @ v).transpose(1, 2).flatten(2) @ weights["output"].T
