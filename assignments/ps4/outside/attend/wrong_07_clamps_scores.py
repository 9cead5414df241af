# wrong: scores are clamped to +-1e4, so that nothing overflows; different large scores become equal.
# shows: visible scores 20000 and 30000 (all weight belongs to the second).

import torch


def attend(query, key, value, mask=None):
    scores = (query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5).clamp(-1e4, 1e4)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    weights = torch.softmax(scores, dim=-1)
    return weights if mask is None and value is None else (weights if mask is None else weights * mask) @ value
