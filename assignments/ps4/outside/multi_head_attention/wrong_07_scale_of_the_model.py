# wrong: the scale is the root of D, not of K.
# shows: n_heads > 1 with scores that are not all alike.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    q, k, v = ((x @ weights[n].T).reshape(B, T, n_heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=D**-0.5)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"].T
