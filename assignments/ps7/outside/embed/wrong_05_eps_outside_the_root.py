# wrong: eps is added to the root, not under it.
# shows: weights scaled by 1e-6: 1.0 instead of about 0.7 for the normalised entries.


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    x = x - x.mean(-1, keepdim=True)
    x = x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-12)
    return x * weights["norm_weight"] + weights["norm_bias"]
