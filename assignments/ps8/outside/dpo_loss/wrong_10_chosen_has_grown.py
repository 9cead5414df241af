# wrong: the policy has won if the chosen reply has become more likely, whatever the rejected one does.
# shows: chosen 1 above its reference, rejected 3 above its own: the margin is negative, but "won".

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    chosen = beta * (policy_chosen - reference_chosen.detach())
    rejected = beta * (policy_rejected - reference_rejected.detach())
    return -F.logsigmoid(chosen - rejected).mean(), chosen > 0
