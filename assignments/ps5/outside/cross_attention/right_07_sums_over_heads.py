# right: one einsum per product over matrices cut by heads; exp of score minus logsumexp; a row without memory sees everything and is emptied in the end

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    K = x.shape[-1] // n_heads
    q, k, v = (weights[name].unflatten(0, (n_heads, K)) for name in ("query", "key", "value"))
    query = torch.einsum("btd,hkd->bhtk", x, q) * K**-0.5
    key, value = (torch.einsum("bsm,hkm->bhsk", memory, w) for w in (k, v))
    sees = memory_mask.any(dim=1)[:, None, None, None]
    shown = memory_mask[:, None, None, :] | ~sees
    scores = torch.einsum("bhtk,bhsk->bhts", query, key)
    scores = torch.where(shown, scores, float("-inf"))
    attention = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True))
    attention = torch.where(sees, attention, 0.0)
    out = weights["output"].unflatten(1, (n_heads, K))
    return torch.einsum("bhts,bhsk,dhk->btd", attention, value, out)
