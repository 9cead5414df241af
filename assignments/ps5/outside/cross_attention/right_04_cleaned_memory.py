# padding is replaced by zeros first, so that not even nan in it matters

import torch
from torch.nn import functional as F


def cross_attention(x, memory, memory_mask, weights, n_heads):
    clean = torch.where(memory_mask.unsqueeze(-1), memory, torch.zeros_like(memory))
    split = lambda y: torch.stack(y.chunk(n_heads, dim=-1), dim=1)
    q, k, v = split(F.linear(x, weights["query"])), split(F.linear(clean, weights["key"])), split(F.linear(clean, weights["value"]))
    mask = memory_mask[:, None, None]
    scores = torch.where(mask, q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, torch.finfo(x.dtype).min)
    out = torch.where(mask, F.softmax(scores, dim=-1), 0.0) @ v
    return F.linear(torch.cat(out.unbind(dim=1), dim=-1), weights["output"])
