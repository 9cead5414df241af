# %% right: Takes the logarithm of the sigmoid.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if not beta > 0:
        raise ValueError(f"beta is {beta}")
    policy = policy_chosen - policy_rejected
    reference = (reference_chosen - reference_rejected).detach()
    margins = beta * (policy - reference)
    return -F.logsigmoid(margins).mean(), margins.gt(0)


# %% right: Adds two exponentials in logarithms.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError("beta must be above 0")
    chosen = policy_chosen - reference_chosen.detach()
    rejected = policy_rejected - reference_rejected.detach()
    margins = (chosen - rejected) * beta
    losses = torch.logaddexp(torch.zeros_like(margins), -margins)
    return losses.sum() / len(losses), chosen > rejected


# %% right: Asks a softmax over the two rewards for the first.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    policy = torch.stack([policy_chosen, policy_rejected], dim=1)
    reference = torch.stack([reference_chosen, reference_rejected], dim=1).detach()
    rewards = beta * (policy - reference)
    loss = F.cross_entropy(rewards, torch.zeros(len(rewards), dtype=torch.int64))
    return loss, rewards[:, 0] > rewards[:, 1]


# %% right: Uses the binary cross-entropy with logits.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0.0:
        raise ValueError("a positive beta is needed")
    with torch.no_grad():
        reference = reference_chosen - reference_rejected
    margins = beta * (policy_chosen - policy_rejected - reference)
    loss = F.binary_cross_entropy_with_logits(margins, torch.ones_like(margins))
    return loss, margins > 0


# %% right: Writes the loss so that no exponent is positive.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    reference = reference_chosen.detach(), reference_rejected.detach()
    margins = beta * ((policy_chosen - reference[0]) - (policy_rejected - reference[1]))
    # At a margin of 0 the slope of `maximum` is -1/2, where that of `relu` would be 0.
    above = torch.maximum(-margins, torch.zeros_like(margins))
    losses = above + torch.log1p(torch.exp(-margins.abs()))
    return torch.mean(losses), torch.gt(margins, 0)


# %% right: Takes the log softmax of the two rewards.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError("beta is not positive")
    rewards = torch.stack(
        (
            beta * (policy_chosen - reference_chosen.detach()),
            beta * (policy_rejected - reference_rejected.detach()),
        )
    )
    losses = -torch.log_softmax(rewards, dim=0)[0]
    return losses.mean(), rewards.argmin(dim=0).bool() & (rewards[0] != rewards[1])


# %% right: logsigmoid
# by the text.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError("beta must be above 0")
    chosen = beta * (policy_chosen - reference_chosen.detach())
    rejected = beta * (policy_rejected - reference_rejected.detach())
    margin = chosen - rejected
    return -F.logsigmoid(margin).mean(), margin > 0


# %% right: logaddexp
# ln(e^0 + e^-m); the other order of differences.

import torch


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if not beta > 0:
        raise ValueError(beta)
    with torch.no_grad():
        fixed = reference_chosen - reference_rejected
    ahead = policy_chosen - policy_rejected - fixed
    margin = ahead * beta
    loss = torch.logaddexp(torch.zeros_like(margin), -margin).sum() / len(margin)
    return loss, ahead.detach() > 0


# %% right: softmax
# as a choice between two, by cross_entropy.

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


# %% right: binary
# binary_cross_entropy_with_logits with all labels 1.

import torch
from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError("beta")
    margin = beta * (
        (policy_chosen - reference_chosen.data) - (policy_rejected - reference_rejected.data)
    )
    won = margin.detach().sign() == 1
    return F.binary_cross_entropy_with_logits(margin, torch.ones_like(margin)), won


# %% right: two cases
# m below 0 and the others by different formulas, each fed with harmless numbers in the other case.

import torch


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(f"beta is {beta}")
    ours = policy_chosen - policy_rejected
    theirs = (reference_chosen - reference_rejected).detach()
    m = beta * (ours - theirs)
    low = m < 0
    below = -m + torch.where(low, m, 0.0).exp().log1p()
    above = torch.where(low, 0.0, -m).exp().log1p()
    return torch.where(low, below, above).mean(), m > 0


# %% wrong: overflows above
# ln(1 + e^m) - m, which is fine below 0 and overflows above.
# shows: a margin of +6000: the loss is inf.


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return (margin.exp().log1p() - margin).mean(), margin > 0


# %% wrong: in float32
# computes in float32 and casts back.
# shows: float64, log probabilities around -100,000: the margin loses its digits.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen.float() - reference_rejected.float()).detach()
    margin = beta * (policy_chosen.float() - policy_rejected.float() - fixed)
    return -F.logsigmoid(margin).mean().to(policy_chosen.dtype), margin > 0


# %% wrong: beta in the default dtype
# beta is made a tensor of torch's default dtype, so a float32 number.
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


# %% wrong: squeezes
# squeezes what is won.
# shows: B = 1: the shape is (), not (1,).

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = (beta * (policy_chosen - policy_rejected - fixed)).squeeze()
    return -F.logsigmoid(margin).mean(), margin > 0


# %% wrong: switches the reference off
# freezes by requires_grad_(False) on the caller's tensors.
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


# %% wrong: bounded above
# holds the margin at 1.5 at most, so that "won is won": loss and gradient of clear pairs are wrong.
# shows: a margin of 5: the loss is 0.2014, not 0.0067, and the gradient 0.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -F.logsigmoid(margin.clamp(max=1.5)).mean(), margin > 0


# %% wrong: no gradient at 0
# relu(-m) + ln(1 + e^-|m|): right numbers, but torch's gradient of both parts is 0 at 0, so nothing ever starts.
# shows: margins of exactly 0, as before the first step: the gradient is 0, not -beta / (2 B).


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return ((-margin).relu() + (-margin.abs()).exp().log1p()).mean(), margin > 0


# %% wrong: logarithm of sigmoid
# the logarithm of sigmoid, in two steps.
# shows: a margin of -6000: inf.


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -margin.sigmoid().log().mean(), margin > 0


# %% wrong: reference learns
# forgets to detach one of the two references.
# shows: reference_rejected with requires_grad: it has a gradient.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    chosen = beta * (policy_chosen - reference_chosen.detach())
    rejected = beta * (policy_rejected - reference_rejected)
    return -F.logsigmoid(chosen - rejected).mean(), chosen > rejected


# %% wrong: chosen has grown
# the policy has won if the chosen reply has become more likely, whatever the rejected one does.
# shows: chosen 1 above its reference, rejected 3 above its own: the margin is negative, but "won".

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    chosen = beta * (policy_chosen - reference_chosen.detach())
    rejected = beta * (policy_rejected - reference_rejected.detach())
    return -F.logsigmoid(chosen - rejected).mean(), chosen > 0


# %% wrong: small beta is zero
# takes a beta below 0.001 for 0.
# shows: beta 0.0001: ValueError.

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta < 1e-3:
        raise ValueError("beta must be above 0")
    fixed = (reference_chosen - reference_rejected).detach()
    margin = beta * (policy_chosen - policy_rejected - fixed)
    return -F.logsigmoid(margin).mean(), margin > 0


# %% wrong: a tiny beta is zero
# takes a beta below a millionth for 0.
# shows: beta 1e-7 and differences of millions: ValueError

from torch.nn import functional as F


def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta < 1e-6:
        raise ValueError("beta must be above 0")
    policy = policy_chosen - policy_rejected
    reference = (reference_chosen - reference_rejected).detach()
    margins = beta * (policy - reference)
    return -F.logsigmoid(margins).mean(), margins > 0


# %% wrong: slack around a margin of 0
# margins below a millionth count as none.
# shows: a margin of 1e-7.
def dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    if beta <= 0:
        raise ValueError(beta)
    margins = beta * (policy_chosen - reference_chosen.detach()) - beta * (policy_rejected - reference_rejected.detach())
    return F.softplus(-margins, threshold=100).mean(), margins > 1e-6
