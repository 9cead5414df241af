# wrong: row 0 of the tokens counts as padding and gets no gradient.
# shows: gradient of weights["token"][0], with id 0 in the text.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    if segments is None:
        segments = torch.zeros_like(ids)
    x = F.embedding(ids, weights["token"], padding_idx=0) + weights["position"][: ids.shape[1]]
    x = x + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)
