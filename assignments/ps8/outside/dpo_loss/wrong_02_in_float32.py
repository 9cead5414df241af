# wrong: computes in float32 and casts back.
# shows: float64, log probabilities around -100,000: the margin loses its digits.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen.float() - reference_rejected.float()).detach()
    margin = beta * (policy_chosen.float() - policy_rejected.float() - fixed)
    return -F.logsigmoid(margin).mean().to(policy_chosen.dtype), margin > 0
