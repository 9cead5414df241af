# wrong: the variance as the mean of squares minus the square of the mean: it loses its digits if the mean is large.
# shows: float32, all token rows plus 10,000: nan or far off.


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) / (variance + 1e-12).sqrt() * weights["norm_weight"] + weights["norm_bias"]
