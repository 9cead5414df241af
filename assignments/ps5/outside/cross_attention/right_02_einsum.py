import math
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    D = x.shape[-1]
    K = D // n_heads
    q = torch.einsum("btd,hkd->bhtk", x, weights["query"].reshape(n_heads, K, -1))
    k = torch.einsum("bsm,hkm->bhsk", memory, weights["key"].reshape(n_heads, K, -1))
    v = torch.einsum("bsm,hkm->bhsk", memory, weights["value"].reshape(n_heads, K, -1))
    sees = memory_mask[:, None, None, :]
    some = memory_mask.any(1)[:, None, None, None]
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / K**0.5
    w = scores.masked_fill(~sees & some, -math.inf).softmax(-1) * some
    return torch.einsum("bhts,bhsk,dhk->btd", w, v, weights["output"].reshape(D, n_heads, K))
