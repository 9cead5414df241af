# wrong: a loop over the rows of the batch, which cuts the padding off row by row (forbidden by the rules of the set; numbers right).
# shows: time for B = 5000.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    out = []
    for b in range(len(x)):
        mem = memory[b][memory_mask[b]]
        if not len(mem):
            out.append(torch.zeros_like(x[b]))
            continue
        q, k, v = (y.unflatten(-1, (n_heads, -1)).transpose(0, 1) for y in (x[b] @ weights["query"].T, mem @ weights["key"].T, mem @ weights["value"].T))
        w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        out.append((w @ v).transpose(0, 1).flatten(1) @ weights["output"].T)
    return torch.stack(out)
