# wrong: "last" takes the last position of the longest text for all rows.
# shows: lengths 5, 1, 3, "last".

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[:, lengths.max() - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)
