# wrong: a loop over the rows, which the rules forbid (the numbers are right).
# shows: the source.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in ("first", "last", "mean"):
        raise ValueError(pooling)
    pooled = []
    for row, n in zip(vectors, lengths.tolist(), strict=True):
        text = row[:n]
        pooled.append({"first": text[0], "last": text[-1], "mean": text.mean(dim=0)}[pooling])
    return F.linear(torch.stack(pooled), weight, bias)
