# wrong: divides by the root of M (width of the values).
# shows: K != M.

import math
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
    return (weights * mask) @ value
