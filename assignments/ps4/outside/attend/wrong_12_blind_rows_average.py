# wrong: the finite minimum, but hidden weights are not set to 0: a blind row gets the mean of all values.
# shows: a row that may look nowhere.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ value
