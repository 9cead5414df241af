import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    D = x.shape[-1]
    K = D // n_heads
    w = {n: weights[n].reshape(n_heads, K, D) for n in ("query", "key", "value")}
    q, k, v = (torch.einsum("btd,hkd->bhtk", x, w[n]) for n in ("query", "key", "value"))
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / K**0.5
    if mask is not None:
        low = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(mask.logical_not(), low)
    attention = F.softmax(scores, dim=-1)
    return torch.einsum("bhts,bhsk,dhk->btd", attention, v, weights["output"].reshape(D, n_heads, K))
