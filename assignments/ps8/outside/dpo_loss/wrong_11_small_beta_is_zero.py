# wrong: takes a beta below 0.001 for 0.
# shows: beta 0.0001: ValueError.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta < 1e-3:
        raise ValueError("beta must be above 0")
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -F.logsigmoid(margin).mean(), margin > 0
