# wrong: a loop over the rows, which the rules forbid (the numbers are right).
# shows: the source.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    log_probs = []
    for scores, right in zip(logits, targets, strict=True):
        log_probs.append(-F.cross_entropy(scores[right != -100], right[right != -100], reduction="sum"))
    log_probs = torch.stack(log_probs)
    return log_probs, -log_probs.sum() / (targets != -100).sum().clamp(min=1)
