# right: replaces the logits where there is no target, computes everywhere.

import torch


def score_replies(logits, targets):
    mask = targets >= 0
    clean = torch.where(mask[..., None], logits, 0.0)
    scores = clean.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    scores = scores * mask
    n = mask.sum().clamp(min=1)
    return scores.sum(dim=1), -(scores.sum() / n)
