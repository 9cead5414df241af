# right: by the text.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError("beta must be above 0")
    chosen = beta * (policy_chosen - reference_chosen.detach())
    rejected = beta * (policy_rejected - reference_rejected.detach())
    margin = chosen - rejected
    return -F.logsigmoid(margin).mean(), margin > 0
