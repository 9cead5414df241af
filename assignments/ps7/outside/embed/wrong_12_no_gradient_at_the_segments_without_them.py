# wrong: without segments their row is taken as a constant.
# shows: segments None: no gradient reaches weights["segment"].

from torch.nn import functional as F


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    if segments is None:
        x = x + weights["segment"][0].detach()
    else:
        x = x + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)
