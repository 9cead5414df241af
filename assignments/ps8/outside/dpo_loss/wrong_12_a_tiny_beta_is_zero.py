# wrong: takes a beta below a millionth for 0.
# shows: beta 1e-7 and differences of millions: ValueError

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta < 1e-6:
        raise ValueError("beta must be above 0")
    policy = policy_chosen - policy_rejected
    reference = (reference_chosen - reference_rejected).detach()
    margins = beta * (policy - reference)
    return -F.logsigmoid(margins).mean(), margins > 0
