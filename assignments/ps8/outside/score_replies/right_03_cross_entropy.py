# right: cross_entropy without reduction on clean logits.

from torch.nn import functional as F


def score_replies(logits, targets):
    nothing = targets.eq(-100)
    clean = logits.masked_fill(nothing.unsqueeze(-1), 0)
    surprise = F.cross_entropy(clean.mT, targets, ignore_index=-100, reduction="none")
    total = surprise.sum()
    count = int((~nothing).sum())
    return -surprise.sum(1), total / count if count else total
