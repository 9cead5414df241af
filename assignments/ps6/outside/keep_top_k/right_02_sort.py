# right: ascending sort, the k-th from the end; torch.where.

import torch


def keep_top_k(logits, k):
    k = min(k, logits.size(-1))
    limit = logits.sort(dim=-1).values.select(-1, -k).unsqueeze(-1)
    return torch.where(logits >= limit, logits, -torch.inf)
