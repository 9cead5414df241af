# wrong: a mask of three axes is read as (B, T, T); by broadcasting it is (H, T, T).
# shows: mask of shape (H, T, T); an error or the wrong numbers (with B = H).

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    q, k, v = (F.linear(x, weights[n]).unflatten(-1, (n_heads, -1)).transpose(1, 2) for n in ("query", "key", "value"))
    return F.linear(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2), weights["output"])
