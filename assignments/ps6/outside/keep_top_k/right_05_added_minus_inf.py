# right: adds 0 or -inf.

import torch


def keep_top_k(logits, k):
    n = min(k, logits.shape[-1])
    limit = torch.amin(torch.topk(logits, n, dim=-1, sorted=False).values, dim=-1, keepdim=True)
    cut = torch.zeros_like(logits).masked_fill(logits < limit, -torch.inf)
    return logits + cut
