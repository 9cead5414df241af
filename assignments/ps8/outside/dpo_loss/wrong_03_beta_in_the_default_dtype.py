# wrong: beta is made a tensor of torch's default dtype, so a float32 number.
# shows: float64, beta 0.1: right to 8 digits only.

import torch
from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    beta = torch.tensor(float(beta))
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -F.logsigmoid(margin).mean(), margin > 0
