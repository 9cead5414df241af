# wrong: scores all positions first and cleans the scores: the weight's gradient is 0 times nan.
# shows: nan at padding, "mean", backward: weight.grad is nan.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    t, n = torch.arange(vectors.shape[1]), lengths[:, None]
    masks = {"first": t == 0 * n, "last": t == n - 1, "mean": t < n}
    if pooling not in masks:
        raise ValueError(pooling)
    mask = masks[pooling]
    scores = (vectors @ weight.T).masked_fill(~mask[..., None], 0)
    return scores.sum(dim=1) / mask.sum(dim=1, keepdim=True) + bias
