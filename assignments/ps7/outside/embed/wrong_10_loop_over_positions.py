# wrong: a loop over the positions, which the rules forbid (the result is right).
# shows: the source.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    segments = torch.zeros_like(ids) if segments is None else segments
    columns = []
    for t in range(ids.shape[1]):
        x = weights["token"][ids[:, t]] + weights["position"][t] + weights["segment"][segments[:, t]]
        columns.append(F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12))
    return torch.stack(columns, dim=1)
