# right: ln(e^0 + e^-m); the other order of differences.

import torch


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if not beta > 0:
        raise ValueError(beta)
    with torch.no_grad():
        fixed = reference_chosen - reference_rejected
    ahead = policy_chosen - policy_rejected - fixed
    margin = ahead * beta
    loss = torch.logaddexp(torch.zeros_like(margin), -margin).sum() / len(margin)
    return loss, ahead.detach() > 0
