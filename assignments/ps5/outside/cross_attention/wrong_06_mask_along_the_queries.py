# wrong: where T = S the mask lies along the queries (third axis), not along the memory.
# shows: T = S with padding.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    square = x.shape[1] == memory.shape[1] and x.shape[1] > 1
    m = memory_mask[:, None, :, None] if square else memory_mask[:, None, None, :]
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, torch.finfo(x.dtype).min)
    w = s.softmax(-1) * m
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T
