# wrong: the gradient of an id is divided by how often it occurs.
# shows: ids [[4, 4, 4]], the gradient of row 4.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    if segments is None:
        segments = torch.zeros_like(ids)
    x = F.embedding(ids, weights["token"], scale_grad_by_freq=True)
    x = x + weights["position"][: ids.shape[1]] + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)
