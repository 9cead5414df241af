# wrong: the batch is flattened into one long text, so texts look at each other; without a mask nobody notices for B = 1.
# shows: B > 1.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    flat = x.reshape(1, B * T, D)
    q, k, v = ((flat @ weights[n].T).reshape(1, B * T, n_heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
    if mask is not None:
        mask = mask.expand(B, n_heads, T, T).permute(1, 2, 0, 3).reshape(n_heads, T, B * T).repeat(1, B, 1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"].T
