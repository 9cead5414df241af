# right: m below 0 and the others by different formulas, each fed with harmless numbers in the other case.

import torch


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(f"beta is {beta}")
    ours = policy_chosen - policy_rejected
    theirs = (reference_chosen - reference_rejected).detach()
    m = beta * (ours - theirs)
    low = m < 0
    below = -m + torch.where(low, m, 0.0).exp().log1p()
    above = torch.where(low, 0.0, -m).exp().log1p()
    return torch.where(low, below, above).mean(), m > 0
