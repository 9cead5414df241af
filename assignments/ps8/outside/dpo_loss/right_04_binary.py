# right: binary_cross_entropy_with_logits with all labels 1.

import torch
from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError("beta")
    margin = beta * (
        (policy_chosen - reference_chosen.data) - (policy_rejected - reference_rejected.data)
    )
    won = margin.detach().sign() == 1
    return F.binary_cross_entropy_with_logits(margin, torch.ones_like(margin)), won
