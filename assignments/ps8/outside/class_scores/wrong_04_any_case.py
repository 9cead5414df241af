# wrong: lower() lets "Mean" and "LAST" through.
# shows: pooling "Mean": scores, no ValueError.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    pooling = pooling.strip().lower()
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)
