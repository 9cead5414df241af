# right: largest score subtracted by hand; masked_scatter back into the batch.

import torch


def score_replies(logits, targets):
    mask = targets != -100
    picked = logits[mask]
    picked = picked - picked.detach().amax(dim=1, keepdim=True)
    values = picked.take_along_dim(targets[mask][:, None], 1)[:, 0] - picked.exp().sum(1).log()
    grid = torch.zeros(targets.shape, dtype=logits.dtype).masked_scatter(mask, values)
    log_probs = grid.sum(dim=-1)
    return log_probs, log_probs.sum().neg() / mask.sum().clamp_min(1)
