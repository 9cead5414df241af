# wrong: keeps only the first head of the mask: a mask that differs from head to head is not obeyed.
# shows: mask of shape (B, H, T, T) with different heads.

import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    K = D // n_heads
    q, k, v = ((x @ weights[n].T).split(K, dim=-1) for n in ("query", "key", "value"))
    if mask is not None:
        mask = mask.expand(B, n_heads, T, T)[:, 0]
    found = []
    for h in range(n_heads):
        scores = q[h] @ k[h].mT / K**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(x.dtype).min)
        found.append(scores.softmax(-1) @ v[h])
    return torch.cat(found, dim=-1) @ weights["output"].T
