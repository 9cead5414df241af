# wrong: goes through the queries in blocks of 32 and cuts the mask along, also where the mask has length 1 there; breaks "The mask may have fewer [axes], or some of length 1"
# shows: 40 queries and a mask of shape (S,) or (1, S): an error, or empty rows, from the 33rd query on
import math

import torch

BLOCK = 32


def attend(query, key, value, mask=None):
    if mask is not None and mask.dim() < 2:
        mask = mask.reshape(1, -1)
    parts = []
    for start in range(0, query.shape[-2], BLOCK):
        scores = query[..., start : start + BLOCK, :] @ key.mT / math.sqrt(key.shape[-1])
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            hidden = ~mask[..., start : start + BLOCK, :]
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1).masked_fill(hidden, 0)
        parts.append(weights @ value)
    return torch.cat(parts, dim=-2)
