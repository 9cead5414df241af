# wrong: ln(1 + e^m) - m, which is fine below 0 and overflows above.
# shows: a margin of +6000: the loss is inf.


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return (margin.exp().log1p() - margin).mean(), margin > 0
