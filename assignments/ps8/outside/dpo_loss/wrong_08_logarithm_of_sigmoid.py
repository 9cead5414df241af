# wrong: the logarithm of sigmoid, in two steps.
# shows: a margin of -6000: inf.


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -margin.sigmoid().log().mean(), margin > 0
