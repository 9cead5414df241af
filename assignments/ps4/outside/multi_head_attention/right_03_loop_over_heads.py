import math
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    K = D // n_heads
    if mask is None:
        mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    mask = mask.expand(B, n_heads, T, T)
    out = 0
    for h in range(n_heads):
        rows = slice(h * K, (h + 1) * K)
        q, k, v = (x @ weights[name][rows].T for name in ("query", "key", "value"))
        scores = (q @ k.mT / math.sqrt(K)).masked_fill(~mask[:, h], -math.inf)
        out = out + scores.softmax(-1) @ v @ weights["output"][:, rows].T
    return out
