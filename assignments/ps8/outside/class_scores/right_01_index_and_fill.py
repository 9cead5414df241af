# right: index tensors; masked_fill before the sum.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, _ = vectors.shape
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(B), lengths - 1]
    elif pooling == "mean":
        is_text = torch.arange(T) < lengths[:, None]
        pooled = vectors.masked_fill(~is_text[:, :, None], 0).sum(dim=1) / lengths[:, None]
    else:
        raise ValueError(pooling)
    return F.linear(pooled, weight, bias)
