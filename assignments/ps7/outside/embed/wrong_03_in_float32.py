# wrong: normalises in float32 and casts back.
# shows: float64 weights: 7 digits only.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    if segments is None:
        segments = torch.zeros_like(ids)
    x = weights["token"][ids] + weights["position"][: ids.shape[1]] + weights["segment"][segments]
    y = F.layer_norm(x.float(), x.shape[-1:], eps=1e-12).to(x.dtype)
    return y * weights["norm_weight"] + weights["norm_bias"]
