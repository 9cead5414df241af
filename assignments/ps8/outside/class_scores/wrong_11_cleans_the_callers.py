# wrong: writes 0 into the padding of the caller's vectors.
# shows: vectors after the call.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in ("first", "last", "mean"):
        raise ValueError(pooling)
    vectors.data[torch.arange(vectors.shape[1]) >= lengths[:, None]] = 0
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    else:
        pooled = vectors.sum(dim=1) / lengths[:, None]
    return F.linear(pooled, weight, bias)
