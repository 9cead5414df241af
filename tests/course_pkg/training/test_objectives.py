"""Objectives against torch and against values worked by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from course_pkg.models import IGNORE
from course_pkg.training import objectives

B, T, V = 2, 5, 7


@pytest.fixture
def logits(rng):
    return torch.randn(B, T, V, generator=rng, dtype=torch.float64).requires_grad_()


@pytest.fixture
def targets(rng):
    ids = torch.randint(V, (B, T), generator=rng)
    ids[0, 1] = ids[1, 4] = IGNORE
    return ids


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_cross_entropy_value_and_gradient_matches_torch(logits, targets, smoothing):
    ours = objectives.cross_entropy(logits, targets, label_smoothing=smoothing)
    theirs = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE, label_smoothing=smoothing
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)  # rounding of float64
    (our_gradient,) = torch.autograd.grad(ours, logits)
    (their_gradient,) = torch.autograd.grad(theirs, logits)
    torch.testing.assert_close(our_gradient, their_gradient, rtol=0, atol=1e-12)


def test_cross_entropy_is_finite_when_exponentials_would_overflow():
    loss = objectives.cross_entropy(torch.tensor([[1e4, 0.0], [0.0, 1e4]]), torch.tensor([1, 1]))
    assert loss.item() == pytest.approx(5000.0)  # 10000 for the first, 0 for the second


def test_cross_entropy_without_targets_is_zero_with_a_zero_gradient(logits):
    loss = objectives.cross_entropy(logits, torch.full((B, T), IGNORE))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == 0.0
    assert torch.equal(gradient, torch.zeros_like(gradient))


def test_target_log_prob_sums_what_cross_entropy_averages(logits, targets):
    total = objectives.target_log_prob(logits, targets).sum()
    mean = objectives.cross_entropy(logits, targets)
    # 8 of the 10 targets count; 1e-12: rounding of float64.
    torch.testing.assert_close(total, -8 * mean, rtol=0, atol=1e-12)


def test_reply_targets_score_the_reply_and_its_end_but_not_padding_with_the_same_id():
    end = 0
    ids = torch.tensor([[5, 6, 7, 8, end, end], [5, 9, 3, 4, 2, end]])
    targets = objectives.reply_targets(ids, torch.tensor([2, 1]), torch.tensor([5, 6]))
    no = IGNORE
    assert targets.tolist() == [[no, 7, 8, end, no, no], [9, 3, 4, 2, end, no]]


@pytest.mark.parametrize(
    ("prompt", "length", "message"),
    [(0, 3, r"prompt_lengths is \[0\]"), (3, 3, r"lengths \[3\]"), (1, 9, r"lengths is \[9\]")],
)
def test_reply_targets_rejects_missing_prompt_or_reply(prompt, length, message):
    with pytest.raises(ValueError, match=message):
        objectives.reply_targets(
            torch.zeros(1, 4, dtype=torch.long), torch.tensor([prompt]), torch.tensor([length])
        )


def test_preference_loss_finds_the_strengths_of_a_tournament_worked_by_hand():
    """One wins three of four games against two, and two 1 of 3 against three: log 3 and -log 2."""
    games = torch.tensor([(0, 1)] * 3 + [(1, 0)] + [(1, 2)] + [(2, 1)] * 2)
    strengths = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([strengths], max_iter=100, tolerance_grad=1e-12)

    def closure():
        optimizer.zero_grad()
        loss = objectives.preference_loss(strengths[games[:, 0]], strengths[games[:, 1]])[0]
        loss.backward()
        return loss

    optimizer.step(closure)
    found = strengths.detach() - strengths[1].item()
    # without ties between the pairs, each pair's share of games won is fitted exactly
    assert found.tolist() == pytest.approx([math.log(3), 0, math.log(2)], abs=1e-5)
    (gradient,) = torch.autograd.grad(
        objectives.preference_loss(strengths[:1], strengths[1:2])[0], strengths
    )
    assert gradient.tolist() == pytest.approx([-1 / 4, 1 / 4, 0], abs=1e-5)  # sigmoid - 1


def test_preference_loss_is_that_of_logistic_regression_and_says_who_leads():
    chosen = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    rejected = torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64)
    loss, is_right = objectives.preference_loss(chosen, rejected)
    ones = torch.ones(3, dtype=torch.float64)
    expected = F.binary_cross_entropy_with_logits(chosen - rejected, ones)
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-12)
    assert is_right.tolist() == [True, False, False]


def test_dpo_loss_starts_at_log_two_and_matches_a_case_worked_by_hand():
    start = torch.tensor([-3.0, -5.0], dtype=torch.float64)
    loss, leans = objectives.dpo_loss(start, start - 1, start, start - 1)
    assert loss.item() == pytest.approx(math.log(2), abs=1e-12)
    assert leans.tolist() == [False, False]

    # The policy gained 2 nats on the chosen reply and lost 1 on the rejected one: margin 3.
    chosen, rejected = torch.tensor([-4.0]), torch.tensor([-6.0])
    loss, leans = objectives.dpo_loss(chosen + 2, rejected - 1, chosen, rejected, beta=0.5)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-1.5)), abs=1e-6)  # float32
    assert leans.tolist() == [True]


def test_dpo_loss_gradient_raises_the_chosen_and_lowers_the_rejected():
    chosen = torch.tensor([-4.0], requires_grad=True)
    rejected = torch.tensor([-4.0], requires_grad=True)
    frozen = torch.tensor([-4.0])
    objectives.dpo_loss(chosen, rejected, frozen, frozen)[0].backward()
    assert chosen.grad.item() < 0 < rejected.grad.item()  # descent steps against the gradient


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_distillation_loss_matches_torch(logits, targets, rng, temperature):
    teacher = torch.randn(B, T, V, generator=rng, dtype=torch.float64)
    ours = objectives.distillation_loss(logits, teacher, targets, temperature)
    keep = targets != IGNORE
    theirs = temperature**2 * F.kl_div(
        (logits[keep] / temperature).log_softmax(-1),
        (teacher[keep] / temperature).softmax(-1),
        reduction="batchmean",
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)  # rounding of float64


def test_distillation_loss_is_zero_when_the_student_agrees(logits, targets):
    shifted = logits.detach() + 3.0  # softmax ignores a constant
    assert objectives.distillation_loss(logits, shifted, targets).item() == pytest.approx(
        0, abs=1e-12
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: objectives.dpo_loss(x, x, x, x, beta=0.0), "beta is 0.0"),
        (
            lambda x: objectives.distillation_loss(
                x.view(1, 1, 1), x.view(1, 1, 1), torch.zeros(1, 1, dtype=torch.long), -1.0
            ),
            "temperature is -1.0",
        ),
    ],
)
def test_objectives_rejects_settings_that_are_not_positive(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.zeros(1))
