# wrong: keys and values are computed without gradients, so weights["key"] and weights["value"] never learn.
# shows: weights["value"].grad is None after backward.

import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    cut = lambda y: y.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)
    q = cut(x @ weights["query"].T)
    with torch.no_grad():
        k, v = cut(x @ weights["key"].T), cut(x @ weights["value"].T)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"].T
