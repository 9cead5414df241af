# wrong: the usual eps, 1e-5.
# shows: small vectors.

from torch.nn import functional as F


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"])
