# wrong: view, which cannot deal with gaps in memory.
# shows: vectors = big[:, ::2], pooling "last": RuntimeError.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, D = vectors.shape
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors.view(B * T, D)[torch.arange(B) * T + lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(T) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)
