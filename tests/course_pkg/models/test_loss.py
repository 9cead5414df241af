"""The loss that every model reports, against torch and against its written-out twin."""

import pytest
import torch
from torch.nn import functional as F

from course_pkg.models import IGNORE
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny
from course_pkg.models.loss import nats_per_target
from course_pkg.training.objectives import cross_entropy
from tests.course_pkg.common.test_devices import CASES

B, T, V = 2, 5, 7


@pytest.mark.parametrize("n_targets", [0, 1, B * T])
def test_loss_and_gradient_equal_the_written_out_twin_and_torch(rng, n_targets):
    logits = torch.randn(B, T, V, generator=rng, dtype=torch.float64).requires_grad_()
    targets = torch.randint(V, (B, T), generator=rng)
    targets.flatten()[n_targets:] = IGNORE
    ours, twin = nats_per_target(logits, targets), cross_entropy(logits, targets)
    gradients = [torch.autograd.grad(loss, logits)[0] for loss in (ours, twin)]
    torch.testing.assert_close(ours, twin, rtol=0, atol=1e-12)  # rounding of float64
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)
    if n_targets:
        theirs = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    else:
        assert ours.item() == 0.0 and not gradients[0].any()


def test_loss_takes_targets_of_32_bits_and_sums_beyond_what_16_bits_hold(rng):
    logits = torch.zeros(1, 100, 3).half()
    logits[..., 0] = 1000.0  # 1000 nats at each of 100 targets: the sum is above 65504
    targets = torch.ones(1, 100, dtype=torch.int32)
    assert nats_per_target(logits, targets).item() == 1000.0


@pytest.mark.parametrize("name", CASES)
def test_batch_without_targets_has_loss_zero_and_no_gradient(name):
    make, make_batch = CASES[name]
    torch.manual_seed(1)
    model, batch = make(), make_batch()
    for key in ("targets", "pair_targets"):
        if key in batch:
            batch[key] = torch.full_like(batch[key], IGNORE)
    loss = model(**batch)[1]
    loss.backward()
    assert loss.item() == 0.0
    assert not any(p.grad.any() for p in model.parameters() if p.grad is not None)


def test_masked_tokens_that_are_none_have_loss_zero_and_no_gradient():
    model = MaskedLMLoss(BERT(bert_tiny(V)))
    ids = torch.arange(V)[None]
    loss = model(ids, torch.full_like(ids, IGNORE))[1]
    loss.backward()
    assert loss.item() == 0.0
    assert not any(p.grad.any() for p in model.parameters() if p.grad is not None)
