# wrong: computes the pooling in float32, and casts back.
# shows: float64 vectors of 1e8 + small numbers, or any comparison to ten digits.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    x = vectors.float()
    if pooling == "first":
        pooled = x[:, 0]
    elif pooling == "last":
        pooled = x[torch.arange(len(x)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], x, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled.to(weight.dtype), weight, bias)
