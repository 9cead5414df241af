"""What is minimised, apart from plain next-token loss, which every model computes itself.

All objectives are means in nats, over what they predict: tokens, replies or pairs. Targets equal to
IGNORE predict nothing. An objective takes logits or log probabilities, never a model, so that it
can be read, tested and replaced alone.
Chapters: GPT, BERT, fine-tuning, assistants. Bradley & Terry 1952; Hinton et al. 2015; Sanh et al.
2019; Ouyang et al. 2022; Rafailov et al. 2023.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_pkg.common.checks import equal_shapes
from course_pkg.layers.inputs import check_lengths
from course_pkg.models import IGNORE
from course_pkg.models.loss import check_targets, log_prob_of_targets


def cross_entropy(
    logits: Float[Tensor, "*N V"], targets: Int[Tensor, "*N"], label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Cross entropy: the mean surprise at the targets, in nats, -log softmax(logits)[target].

    The largest logit is subtracted before exponentials are taken (inside `logsumexp`): softmax does
    not change, and exp cannot overflow. Without any target the loss is 0, not 0 / 0.

    Args:
        label_smoothing: label smoothing spreads this share of each target evenly over V
            (Szegedy et al. 2016).

    Raises:
        ValueError: if there is not one target for each row, a target is no class, or the share is
            none.
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is {label_smoothing}; it must be 0 to 1")
    log_probs = logits - logits.logsumexp(dim=-1, keepdim=True)
    chosen, is_target = log_prob_of_targets(log_probs, targets)
    surprise = -(1 - label_smoothing) * chosen - label_smoothing * log_probs.mean(dim=-1)
    return surprise.where(is_target, 0.0).sum() / is_target.sum().clamp(min=1)


def target_log_prob(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Return the log probability (nats) of each row's targets as a whole: a sum, not a mean.

    Raises:
        ValueError: as `cross_entropy`.
    """
    chosen, _ = log_prob_of_targets(logits.log_softmax(dim=-1), targets)
    return chosen.sum(dim=-1)


def reply_targets(
    ids: Int[Tensor, "B T"], prompt_lengths: Int[Tensor, " B"], lengths: Int[Tensor, " B"]
) -> Int[Tensor, "B T"]:
    """Make next-token targets that score the reply only (Ouyang et al. 2022, appendix C).

    Row b of `ids` is a prompt of `prompt_lengths[b]` tokens, the reply, whose last token says that
    it ends, and padding from `lengths[b]` on. The padding may reuse the end token's id: what
    counts is its position, so the model still learns to stop.

    Raises:
        ValueError: if a row has no prompt or no reply.
    """
    equal_shapes(lengths=lengths, prompt_lengths=prompt_lengths)
    check_lengths(lengths, ids.shape)
    if bool((prompt_lengths < 1).any()) or bool((prompt_lengths >= lengths).any()):
        raise ValueError(
            f"prompt_lengths is {prompt_lengths.tolist()} with lengths {lengths.tolist()}; "
            "each prompt needs a token and each reply needs one after it"
        )
    position = torch.arange(1, ids.shape[1] + 1, device=ids.device)  # of the token predicted at t
    is_reply = (position >= prompt_lengths[:, None]) & (position < lengths[:, None])
    following = torch.cat([ids[:, 1:], ids.new_full((len(ids), 1), IGNORE)], dim=1)
    return following.where(is_reply, IGNORE)


def preference_loss(
    chosen: Float[Tensor, " B"], rejected: Float[Tensor, " B"]
) -> tuple[Float[Tensor, ""], Bool[Tensor, " B"]]:
    """Give chosen replies a higher reward than rejected ones: Bradley & Terry 1952.

    The model says that of two replies the first is chosen with probability sigmoid(r1 - r2); the
    loss is -log of that, which trains a reward model (Ouyang et al. 2022, eq. 1). Rewards have no
    zero: adding the same to all changes nothing.

    Args:
        chosen: rewards of the replies that were chosen, such as the one output of a
            `TextClassifier` with `n_classes=1`.
        rejected: rewards of the others, in the same order.

    Returns:
        the mean loss in nats per pair, and for each pair whether the chosen reply has more.

    Raises:
        ValueError: if there are not as many of both, or none.
    """
    equal_shapes(chosen=chosen, rejected=rejected)
    if chosen.numel() == 0:
        raise ValueError("chosen is empty; there must be a pair to learn from")
    margin = chosen - rejected
    return -F.logsigmoid(margin).mean(), margin > 0


def dpo_loss(
    policy_chosen: Float[Tensor, " B"],
    policy_rejected: Float[Tensor, " B"],
    reference_chosen: Float[Tensor, " B"],
    reference_rejected: Float[Tensor, " B"],
    beta: float = 0.1,
) -> tuple[Float[Tensor, ""], Bool[Tensor, " B"]]:
    """Prefer the chosen reply over the rejected one (Rafailov et al. 2023, eq. 7).

    -log sigmoid(beta [(log pi(chosen) - log ref(chosen)) - (log pi(rejected) - log ref(rejected))])

    This is `preference_loss` with the reward beta log(pi / ref): no reward model is needed. The
    reference is the frozen model from which the policy started; beta says how dear it is to leave
    it. At the start both agree and the loss is log 2.

    Args:
        policy_chosen: log probabilities (nats) of whole replies, from `target_log_prob`.

    Returns:
        the mean loss per pair, and for each pair whether the policy now leans to the chosen reply
        more than the reference does.

    Raises:
        ValueError: if beta is not positive, or the four are not of one shape.
    """
    if not beta > 0:
        raise ValueError(f"beta is {beta}; it must be positive")
    equal_shapes(
        policy_chosen=policy_chosen,
        policy_rejected=policy_rejected,
        reference_chosen=reference_chosen,
        reference_rejected=reference_rejected,
    )
    return preference_loss(
        beta * (policy_chosen - reference_chosen), beta * (policy_rejected - reference_rejected)
    )


def distillation_loss(
    student_logits: Float[Tensor, "B T V"],
    teacher_logits: Float[Tensor, "B T V"],
    targets: Int[Tensor, "B T"],
    temperature: float = 2.0,
) -> Float[Tensor, ""]:
    """Make a small model's predictions as spread out as a large one's (Hinton et al. 2015).

    temperature^2 KL(teacher || student), both softened by the temperature, averaged over positions
    that have a target. The square keeps gradients comparable when the temperature changes.

    Raises:
        ValueError: if temperature is not positive, or the two score other tokens or positions.
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}; it must be positive")
    equal_shapes(student_logits=student_logits, teacher_logits=teacher_logits)
    check_targets(student_logits, targets)
    is_target = targets != IGNORE
    student = (student_logits / temperature).log_softmax(dim=-1)
    teacher = (teacher_logits / temperature).log_softmax(dim=-1)
    divergence = (teacher.exp() * (teacher - student)).sum(dim=-1)  # (B, T)
    mean = divergence.where(is_target, 0.0).sum() / is_target.sum().clamp(min=1)
    return temperature**2 * mean
