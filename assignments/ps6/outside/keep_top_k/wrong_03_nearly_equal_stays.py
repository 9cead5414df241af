# wrong: what is within 1e-5 of the limit stays, too.
# shows: logits (1, 1 - 1e-6) in float64, k = 1.

import torch


def keep_top_k(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return torch.where(logits >= limit - 1e-5, logits, float("-inf"))
