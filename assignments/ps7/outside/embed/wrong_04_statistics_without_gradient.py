# wrong: mean and variance are computed without gradients.
# shows: the gradient of weights["token"] (each entry's gradient leaves out what it does to the mean).

import torch


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    with torch.no_grad():
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return (x - mean) / (variance + 1e-12).sqrt() * weights["norm_weight"] + weights["norm_bias"]
