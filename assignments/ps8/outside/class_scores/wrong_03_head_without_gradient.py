# wrong: detaches the head, as if it were frozen.
# shows: weight and bias with requires_grad, backward: no gradient reaches them.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight.detach(), bias.detach())
