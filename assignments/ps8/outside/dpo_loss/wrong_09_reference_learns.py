# wrong: forgets to detach one of the two references.
# shows: reference_rejected with requires_grad: it has a gradient.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    chosen = beta * (policy_chosen - reference_chosen.detach())
    rejected = beta * (policy_rejected - reference_rejected)
    return -F.logsigmoid(chosen - rejected).mean(), chosen > rejected
