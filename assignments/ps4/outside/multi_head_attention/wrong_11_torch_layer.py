# wrong: torch's nn.MultiheadAttention, which is not allowed (its weights are copies: no gradient to the caller's; making it draws from torch's global random generator).
# shows: gradients; by reading.

import torch
from torch import nn


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    layer = nn.MultiheadAttention(D, n_heads, bias=False, batch_first=True, dtype=x.dtype)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([weights[n] for n in ("query", "key", "value")]))
        layer.out_proj.weight.copy_(weights["output"])
    if mask is not None:
        mask = ~mask.expand(B, n_heads, T, T).reshape(B * n_heads, T, T)
    return layer(x, x, x, attn_mask=mask)[0]
