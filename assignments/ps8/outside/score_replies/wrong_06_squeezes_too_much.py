# wrong: squeeze without an axis.
# shows: B = 1 (or T = 1): the result has the wrong shape, or an IndexError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None])
    values = (values * mask[..., None]).squeeze()
    return values.sum(-1), -values.sum() / mask.sum().clamp(min=1)
