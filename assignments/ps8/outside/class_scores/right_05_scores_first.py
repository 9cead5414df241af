# right: cleans padding, scores each position, then pools the scores.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    places = torch.arange(vectors.size(1))
    is_text = places.unsqueeze(0).lt(lengths.unsqueeze(1)).unsqueeze(2)
    scores = vectors.masked_fill(is_text.logical_not(), 0.0) @ weight.t()
    match pooling:
        case "first":
            scores = scores[:, 0]
        case "last":
            scores = scores.take_along_dim(lengths[:, None, None] - 1, dim=1)[:, 0]
        case "mean":
            scores = scores.sum(1) / lengths[:, None]
        case _:
            raise ValueError(pooling)
    return scores + bias
