# wrong: a mask of three axes is always given a head axis (B, 1, T, S), also where the tensors have three axes themselves.
# shows: query (B, T, K) with mask (B, T, S): the result is (B, B, T, M). Four axes, or a mask of two, are fine.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    if mask.dim() == 3:
        mask = mask.unsqueeze(1)
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value
