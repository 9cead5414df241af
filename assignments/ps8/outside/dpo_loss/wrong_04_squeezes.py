# wrong: squeezes what is won.
# shows: B = 1: the shape is (), not (1,).

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = (beta * (policy_chosen - policy_rejected - fixed)).squeeze()
    return -F.logsigmoid(margin).mean(), margin > 0
