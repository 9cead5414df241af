# wrong: asks whether pooling is in one string, so every part of it is allowed.
# shows: pooling "" or "me": scores of the mean, no ValueError.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in "first last mean":
        raise ValueError(pooling)
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    else:
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    return F.linear(pooled, weight, bias)
