# wrong: adds -1e9 to hidden scores and zeroes hidden weights: a hidden score above 1e9 still takes all the weight from the others.
# shows: hidden scores of 1e10 and more: the weights of the visible do not sum to 1.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores - 1e9 * (~mask).to(scores.dtype)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value
