import math


def cross_attention(x, memory, memory_mask, weights, n_heads):
    B, T, D = x.shape
    K = D // n_heads
    q = (x @ weights["query"].T).reshape(B, T, n_heads, K).permute(0, 2, 1, 3)
    k = (memory @ weights["key"].T).reshape(B, memory.shape[1], n_heads, K).permute(0, 2, 3, 1)
    v = (memory @ weights["value"].T).reshape(B, memory.shape[1], n_heads, K).permute(0, 2, 1, 3)
    s = (q @ k / K**0.5).masked_fill(~memory_mask[:, None, None, :], -math.inf)
    top = s.detach().amax(dim=-1, keepdim=True)
    e = (s - top.masked_fill(top == -math.inf, 0.0)).exp()
    total = e.sum(-1, keepdim=True)
    w = e / total.masked_fill(total == 0, 1.0)
    return (w @ v).permute(0, 2, 1, 3).reshape(B, T, D) @ weights["output"].T
