# wrong: subtracts the largest logit of all positions, then exponentials.
# shows: two positions whose logits are 5000 apart: -inf.

import torch


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    clean = clean - clean.detach().max()
    right = clean.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    values = torch.where(mask, right - clean.exp().sum(-1).log(), 0)
    return values.sum(1), -values.sum() / mask.sum().clamp(min=1)
