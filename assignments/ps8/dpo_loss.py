"""The task "learn from preferences"."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.training import objectives

from ..contracts import Contract
from ..tensors import (
    Draw,
    Generator,
    any_layout,
    call,
    keeps,
    near,
    near_part,
    tensor_case,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("N; N; N; N; -")


def _case(
    rng: Generator,
    margins: list[float],
    beta: float,
    dtype: str = "float64",
    *,
    base: tuple[float, float] = (-20.0, -30.0),
    moved: float = 0.0,
    what: str = "",
) -> Case:
    """Draw log probabilities with these margins, which are those of the rewards without beta.

    `base` are the least and the largest log probability of a chosen reply, and by `moved` both
    replies have become likelier. Everything is a multiple of 1/8, so that nothing is rounded, and a
    margin of 0 is one.
    """
    n = len(margins)
    eighths = rng.integers(0, 9, (3, n)) / 8
    low, high = sorted(base)
    reference = low + (high - low) * eighths[0], low - 4 - 8 * eighths[1]
    change = 2 * eighths[2] - 1 + moved
    policy = reference[0] + change + np.array(margins), reference[1] + change
    kind = getattr(torch, dtype)
    numbers = [torch.as_tensor(part).to(kind) for part in (*policy, *reference)]
    shown = ", ".join(f"{beta * margin:g}" for margin in margins[:4])
    more = ", ..." if n > 4 else ""
    return tensor_case(f"margins {shown}{more}, beta {beta:g}{what}", dtype, *numbers, beta)


def draw_values(rng: Generator) -> list[Case]:
    """Margins of both signs, between pairs and in them."""
    return [
        _case(rng, [2.0], 0.5),
        _case(rng, [-1.5, 3.0], 1.0),
        _case(rng, [4.0, -6.0, 1.0], 0.1, "float32"),
        _case(rng, [0.5, 2.5, -2.0, -0.5, 7.0], 2.0),
        _case(rng, [-3.0, 5.0, 0.5], 0.3),
        _case(rng, [2000.0, -3000.0, 5000.0], 1e-4, base=(-9000, -6000)),
        _case(
            rng, [12.0, -9.0, 3.0, 1.0], 0.25, "float32", what=", unlike replies", base=(-90, -5)
        ),
        _case(rng, [1.5, -2.0, 2.5], 0.5, moved=-8.0, what=", both replies less likely"),
    ]


def draw_ties(rng: Generator) -> list[Case]:
    """Margins of 0: the policy is the reference, or has moved both replies alike."""
    return [
        _case(rng, [0.0], 0.5),
        _case(rng, [0.0, 0.0, 0.0], 0.1, "float32"),
        _case(rng, [1.0, 0.0, -1.0, 0.0], 1.0),
        _case(rng, [0.0, 0.0], 1e-9),
        _case(rng, [2e-8, -2e-8, 0.0], 1.0, what=", margins of nearly 0"),
    ]


def draw_extremes(rng: Generator) -> list[Case]:
    """Margins of hundreds and thousands."""
    return [
        _case(rng, [-2000.0, 5.0], 1.0),
        _case(rng, [3000.0, -3000.0, 1.0], 0.5, "float32"),
        _case(rng, [900.0, 400.0], 2.0),
        _case(rng, [-120.0, -150.0, 120.0], 1.0, "float32"),
        _case(rng, [-800.0, -60.0], 10.0, "float32"),
    ]


def draw_for_gradients(rng: Generator) -> list[Case]:
    """Ordinary margins, some of 0, and large ones."""
    return [*draw_values(rng)[1:], draw_ties(rng)[2], draw_extremes(rng)[1]]


def draw_wrong_betas(rng: Generator) -> list[Case]:
    """A beta of 0 and below."""
    return [_case(rng, [1.0, -1.0], beta) for beta in (0.0, -0.1, -2.0)]


def _taking(draw: Draw, take: int) -> Draw:
    """Make the same cases, in which one of the two results is looked at."""
    return lambda rng: [Case(c.label, {**c.inputs, "take": take}) for c in draw(rng)]


# -- probes ----------------------------------------------------------------------------------------


def differentiate_policy(implementation, inputs):
    """Return the gradients of the policy's numbers, where the reference asks for none."""
    import torch

    chosen, rejected, *reference, beta = inputs["arguments"]
    leaves = [part.clone().requires_grad_() for part in (chosen, rejected)]
    loss = implementation(*leaves, *reference, beta)[0]
    if not loss.requires_grad:
        return "no gradient"
    return list(torch.autograd.grad(loss.sum(), leaves, materialize_grads=True))


def differentiate_reference(implementation, inputs):
    """Return whether no gradient reaches chosen and rejected, and they ask for one as before."""
    *numbers, beta = inputs["arguments"]
    leaves = [part.clone().requires_grad_() for part in numbers]
    loss = implementation(*leaves, beta)[0]
    if not loss.requires_grad:
        return "no gradient"
    loss.sum().backward()
    reference = leaves[2:]
    return *(part.grad is None for part in reference), all(p.requires_grad for p in reference)


def call_with_wrong_beta(implementation, inputs):
    """Return whether a ValueError is raised."""
    try:
        implementation(*inputs["arguments"])
    except ValueError:
        return True
    return False


# -- the reference version -------------------------------------------------------------------------


def dpo_loss(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    beta: float,
) -> tuple[Tensor, Tensor]:
    """Ask the package, with the reference cut off."""
    reference = reference_chosen.detach(), reference_rejected.detach()
    return objectives.dpo_loss(policy_chosen, policy_rejected, *reference, float(beta))


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "loss",
        "The loss is the mean of -ln sigmoid(margin) over the pairs.",
        _taking(draw_values, 0),
        call,
        5,
    ),
    near_part(
        "won",
        "A pair is won if its margin is above 0.",
        _taking(draw_values, 1),
        call,
        1.5,
    ),
    near_part("margins of 0", "A margin of 0 is not won, and costs ln 2.", draw_ties, call, 1),
    near_part("extremes", "Margins may be thousands.", draw_extremes, call, 1.5),
    near_part(
        "gradients",
        "Gradients flow from the loss to the policy's numbers, and are right.",
        draw_for_gradients,
        differentiate_policy,
        1.5,
    ),
    Part(
        "frozen",
        "No gradient reaches the reference, also if it asks for one.",
        draw_for_gradients,
        differentiate_reference,
        judge=saying(
            "reference_chosen gets a gradient",
            "reference_rejected gets a gradient",
            "the reference no longer asks for gradients",
            judge=near,
        ),
        weight=1,
        earns_alone=False,
    ),
    Part(
        "beta",
        "A beta of 0 or below raises a ValueError.",
        draw_wrong_betas,
        call_with_wrong_beta,
        judge=saying("there is a loss, and no ValueError is raised"),
        weight=0.5,
        earns_alone=False,
    ),
    any_layout(draw_values, 0.5, CONTRACT),
    *keeps(draw_values, lambda rng: [*draw_ties(rng), *draw_extremes(rng)]),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[1:2], "N")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    """The answer that the mistakes start from."""
    if beta <= 0:
        raise ValueError(beta)
    reference_chosen = reference_chosen.detach()
    reference_rejected = reference_rejected.detach()
    reward_chosen = beta * (policy_chosen - reference_chosen)
    reward_rejected = beta * (policy_rejected - reference_rejected)
    margins = reward_chosen - reward_rejected
    losses = F.softplus(-margins, threshold=100)
    return losses.mean(), margins > 0


@mistake(
    hint="Your results are right, but they are made piece by piece, in a loop. Differences and "
    "`F.logsigmoid` take the whole batch at once."
)
def pair_by_pair(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta):
    """The pairs are compared in a loop."""
    if beta <= 0:
        raise ValueError(beta)
    losses, won = [], []
    for number in range(len(policy_chosen)):
        chosen = policy_chosen[number] - reference_chosen[number].detach()
        rejected = policy_rejected[number] - reference_rejected[number].detach()
        margin = beta * (chosen - rejected)
        losses.append(-F.logsigmoid(margin))
        won.append(margin > 0)
    return torch.stack(losses).mean(), torch.stack(won)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The reference is left out.",
        replace={
            "policy_chosen - reference_chosen)": "policy_chosen - 0 * reference_chosen)",
            "policy_rejected - reference_rejected)": "policy_rejected - 0 * reference_rejected)",
        },
        hint="You compare the policy's own probabilities. What counts is how much more likely than "
        "the reference it makes each reply.",
        keeps=0.3,
    ),
    mistake(
        "The rejected reply's reference is left out.",
        replace={
            "policy_rejected - reference_rejected)": "policy_rejected - 0 * reference_rejected)"
        },
        hint="You compare the chosen reply with the reference, but not the rejected one. Each "
        "reply has a reward of its own.",
        keeps=0.3,
    ),
    mistake(
        "Chosen and rejected are exchanged.",
        replace={"reward_chosen - reward_rejected": "reward_rejected - reward_chosen"},
        hint="Your margins have the wrong sign: the chosen reply's reward comes first, and the "
        "rejected one's is subtracted. As it is, the policy learns the opposite.",
        keeps=0.5,
    ),
    mistake(
        "The rewards are added.",
        replace={"reward_chosen - reward_rejected": "reward_chosen + reward_rejected"},
        hint="You add the two rewards. The margin is their difference: it asks which of the two "
        "replies the policy has moved towards.",
    ),
    mistake(
        "Beta is left out.",
        replace={
            "beta * (policy_chosen": "1.0 * (policy_chosen",
            "beta * (policy_rejected": "1.0 * (policy_rejected",
        },
        hint="You leave out beta. Both rewards are multiplied by it: it says how dear it is to "
        "leave the reference.",
        keeps=0.5,
    ),
    mistake(
        "Beta divides.",
        replace={
            "beta * (policy_chosen": "1 / beta * (policy_chosen",
            "beta * (policy_rejected": "1 / beta * (policy_rejected",
        },
        hint="You divide by beta. It is a factor of the reward here, and no temperature.",
    ),
    mistake(
        "Beta multiplies the loss.",
        replace={
            "beta * (policy_chosen": "1.0 * (policy_chosen",
            "beta * (policy_rejected": "1.0 * (policy_rejected",
            "losses.mean()": "beta * losses.mean()",
        },
        hint="You multiply the loss by beta. It belongs inside, to the rewards, where it decides "
        "how soon a margin is large enough.",
    ),
    mistake(
        "The loss is a sum.",
        replace={"losses.mean()": "losses.sum()"},
        hint="Your loss is a sum over the pairs. It is asked for as a mean, so that a larger batch "
        "does not mean larger steps.",
        keeps=0.5,
    ),
    mistake(
        "The loss is one for each pair.",
        replace={"losses.mean()": "losses"},
        hint="You return a loss for each pair. The loss is one number, the mean over the pairs.",
        keeps=0.5,
    ),
    mistake(
        "The mean is taken before the logarithm.",
        replace={"losses.mean()": "F.softplus(-margins.mean(), threshold=100)"},
        hint="You average the margins, and take one loss of that. Pairs that are won clearly would "
        "hide those that are lost: average the losses.",
    ),
    mistake(
        "The sigmoid is taken without its logarithm.",
        replace={"F.softplus(-margins, threshold=100)": "1 - torch.sigmoid(margins)"},
        hint="Your loss is the probability of the wrong order, without a logarithm. It is the mean "
        "of minus the logarithm of the sigmoid.",
        keeps=0.3,
    ),
    mistake(
        "The loss has the wrong sign.",
        replace={"F.softplus(-margins, threshold=100)": "F.logsigmoid(margins)"},
        hint="Your loss is negative. It is minus the logarithm of a probability, so 0 or above.",
        keeps=0.5,
    ),
    mistake(
        "The sigmoid is taken first, and then its logarithm.",
        replace={"F.softplus(-margins, threshold=100)": "-torch.log(torch.sigmoid(margins))"},
        hint="Where a margin is far below 0, the sigmoid rounds to 0 and its logarithm is -inf. "
        "`F.logsigmoid` does both steps at once.",
    ),
    mistake(
        "A margin of 0 has no gradient.",
        replace={
            "F.softplus(-margins, threshold=100)": (
                "torch.relu(-margins) + torch.log1p(torch.exp(-margins.abs()))"
            )
        },
        hint="Your loss is right, but at a margin of 0 its gradient is 0: there both relu and abs "
        "have none. All margins are 0 at the start, so nothing would ever move.",
    ),
    mistake(
        "Margins are clipped.",
        replace={
            "reward_chosen - reward_rejected": "(reward_chosen - reward_rejected).clamp(-50, 50)"
        },
        hint="You clip margins so that nothing overflows. Then a pair that is lost badly has no "
        "gradient left: let `F.logsigmoid` deal with it.",
    ),
    mistake(
        "A margin of 0 is won.",
        replace={"margins > 0": "margins >= 0"},
        hint="You count a margin of 0 as won. Before the first step all margins are 0, and nothing "
        "has been learned yet.",
    ),
    mistake(
        "A pair is won if the policy finds the chosen reply likelier.",
        replace={"margins > 0": "policy_chosen > policy_rejected"},
        hint="You ask which reply the policy finds likelier. It may have done so from the start, "
        "like the reference: what counts is the margin.",
    ),
    mistake(
        "The share of pairs that are won is returned.",
        replace={"margins > 0": "(margins > 0).double().mean()"},
        hint="Your second result is a share. It is True or False for each pair: whoever wants the "
        "share can take the mean.",
    ),
    mistake(
        "The reference gets gradients.",
        replace={
            "reference_chosen.detach()": "reference_chosen",
            "reference_rejected.detach()": "reference_rejected",
        },
        hint="Your loss is right, but gradients reach the reference when it asks for them. It is "
        "frozen: else it would run away from the policy.",
    ),
    mistake(
        "No gradient reaches the rejected replies.",
        replace={"beta * (policy_rejected": "beta * (policy_rejected.detach()"},
        hint="Your loss is right, but the rejected replies get no gradient. Only the reference is "
        "frozen: what is rejected must become less likely.",
    ),
    mistake(
        "Every beta is taken.",
        replace={"beta <= 0": "beta is None"},
        hint="You take a beta of 0 or below without a word. With it the loss would teach nothing, "
        "or the opposite: raise a ValueError.",
    ),
    mistake(
        "A beta of 0 is taken.",
        replace={"beta <= 0": "beta < 0"},
        hint="You take a beta of 0. All margins are 0 then, whatever the policy does: raise a "
        "ValueError there, too.",
    ),
    pair_by_pair,
)

CHECK = Check(
    item="ps8_dpo_loss",
    points=8,
    target="dpo_loss",
    reference=dpo_loss,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
