# wrong: the shares mask / lengths are whole numbers divided: they have torch's default dtype.
# shows: float64, "mean", lengths 3: right to 8 digits only; default dtype float64 and float32 vectors: an error or float64.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    t, n = torch.arange(vectors.shape[1]), lengths[:, None]
    masks = {"first": t == 0 * n, "last": t == n - 1, "mean": t < n}
    if pooling not in masks:
        raise ValueError(pooling)
    mask = masks[pooling]
    shares = mask / mask.sum(dim=1, keepdim=True)
    clean = vectors.masked_fill(~mask[..., None], 0)
    return F.linear((clean * shares[..., None]).sum(dim=1), weight, bias)
