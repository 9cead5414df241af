# wrong: the heads are joined by a plain reshape, without exchanging the axes.
# shows: T > 1 and n_heads > 1.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    q, k, v = ((x @ weights[n].T).reshape(B, T, n_heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).reshape(B, T, D) @ weights["output"].T
