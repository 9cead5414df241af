# wrong: computes in float32 and casts back.
# shows: float64: right to 7 digits only; logits of thousands: the error is 1e-4.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0).float()
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    log_probs = values.sum(1).to(logits.dtype)
    return log_probs, -log_probs.sum() / mask.sum().clamp(min=1)
