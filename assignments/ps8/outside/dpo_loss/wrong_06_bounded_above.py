# wrong: holds the margin at 1.5 at most, so that "won is won": loss and gradient of clear pairs are wrong.
# shows: a margin of 5: the loss is 0.2014, not 0.0067, and the gradient 0.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -F.logsigmoid(margin.clamp(max=1.5)).mean(), margin > 0
