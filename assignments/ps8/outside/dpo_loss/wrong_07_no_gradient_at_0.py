# wrong: relu(-m) + ln(1 + e^-|m|): right numbers, but torch's gradient of both parts is 0 at 0, so nothing ever starts.
# shows: margins of exactly 0, as before the first step: the gradient is 0, not -beta / (2 B).


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return ((-margin).relu() + (-margin.abs()).exp().log1p()).mean(), margin > 0
