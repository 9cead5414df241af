# wrong: hidden scores get the lowest score of all minus 1000: not lower at all where scores are beyond 1e10 in float32.
# shows: float32, scores of about +-1e11: lowest - 1000 == lowest by rounding, so a visible place shares its weight with hidden ones.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(scores, -1) @ value
    scores = torch.where(mask, scores, scores.detach().min() - 1000)
    weights = torch.softmax(scores, -1) * mask
    return weights @ value
