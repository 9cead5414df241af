# wrong: the mask goes to torch's function as float, which ADDS it to the scores: hidden 0, visible +1.
# shows: any mask that hides something.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    q, k, v = ((x @ weights[n].T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for n in ("query", "key", "value"))
    if mask is not None:
        mask = mask.to(x.dtype)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).flatten(2) @ weights["output"].T
