# right: the k smallest of the negatives, and their largest.

import torch


def keep_top_k(logits, k):
    result = logits.clone()
    if k < logits.shape[-1]:
        worst = (-logits).topk(k, dim=-1, largest=False)[0].max(dim=-1, keepdim=True)[0]
        result[-logits > worst] = float("-inf")
    return result
