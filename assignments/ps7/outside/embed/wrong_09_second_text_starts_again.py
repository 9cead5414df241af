# wrong: the positions of the second text begin at 0 again.
# shows: segments (0, 1, 1).

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    segments = torch.zeros_like(ids) if segments is None else segments
    places = torch.arange(ids.shape[1]).expand(ids.shape)
    places = places - segments * (1 - segments).sum(dim=1, keepdim=True)
    x = weights["token"][ids] + weights["position"][places] + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)
