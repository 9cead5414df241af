# wrong: freezes by requires_grad_(False) on the caller's tensors.
# shows: reference_chosen.requires_grad after the call; the policy's own tensors as the reference: no gradient.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    reference_chosen.requires_grad_(False)
    reference_rejected.requires_grad_(False)
    chosen = beta * (policy_chosen - reference_chosen)
    rejected = beta * (policy_rejected - reference_rejected)
    return -F.logsigmoid(chosen - rejected).mean(), chosen > rejected
