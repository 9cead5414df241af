# right: as a choice between two, by cross_entropy.

import torch
from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError
    policy = torch.stack([policy_chosen, policy_rejected], dim=1)
    reference = torch.stack([reference_chosen, reference_rejected], dim=1).detach()
    rewards = beta * (policy - reference)
    zero = torch.zeros(len(rewards), dtype=torch.int64)
    return F.cross_entropy(rewards, zero), rewards[:, 0] > rewards[:, 1]
