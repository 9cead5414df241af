# wrong: the log probabilities are detached; only the loss can be trained.
# shows: log_probs.sum().backward() alone raises a RuntimeError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    return values.detach().sum(1), -values.sum() / mask.sum().clamp(min=1)
