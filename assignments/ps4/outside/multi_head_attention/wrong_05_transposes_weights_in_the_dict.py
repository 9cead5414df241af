# wrong: writes the transposed matrices back into the caller's dict: the second call computes with the wrong ones.
# shows: weights after the call; a second call.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    for name in weights:
        weights[name] = weights[name].T
    B, T, D = x.shape
    q, k, v = ((x @ weights[n]).reshape(B, T, n_heads, D // n_heads).transpose(1, 2) for n in ("query", "key", "value"))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"]
