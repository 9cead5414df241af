"""The five steps: each neighbour differs in one thing, and each step does what it says."""

from dataclasses import asdict, replace
from itertools import pairwise

import pytest
import torch

from course_pkg.layers.cost import longest_chain
from course_pkg.models import IGNORE
from course_pkg.models.five_steps import FIVE_STEPS, FiveStepsTranslator, StepWiring

V_SOURCE, V, D, H, B, S, T = 9, 7, 12, 3, 2, 6, 5
EXACT = {"rtol": 1e-10, "atol": 1e-10}  # float64 sums of a few dozen terms
WITH_POSITIONS = tuple(replace(wiring, has_positions=True) for wiring in FIVE_STEPS)
each_step = pytest.mark.parametrize("wiring", FIVE_STEPS, ids=range(6))
every_wiring = pytest.mark.parametrize("wiring", FIVE_STEPS + WITH_POSITIONS)


def small(wiring, rng) -> FiveStepsTranslator:
    return FiveStepsTranslator(wiring, V_SOURCE, V, D, H, generator=rng).double().eval()


def texts(rng):
    return torch.randint(V_SOURCE, (B, S), generator=rng), torch.randint(V, (B, T), generator=rng)


def test_each_step_changes_one_thing():
    for before, after in pairwise(FIVE_STEPS):
        changed = [n for n, value in asdict(after).items() if value != asdict(before)[n]]
        assert len(changed) == 1, changed


@every_wiring
def test_five_steps_ignores_the_future_of_the_target(wiring, rng):
    model, (source, ids) = small(wiring, rng), texts(rng)
    changed = ids.clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % V
    torch.testing.assert_close(model(source, changed)[0][:, :3], model(source, ids)[0][:, :3])


@every_wiring
def test_five_steps_ignores_padding_of_the_source(wiring, rng):
    """A short source alone gives what it gives beside a long one, whatever fills its row."""
    model, (source, ids) = small(wiring, rng), texts(rng)
    together = model(source, ids, source_lengths=torch.tensor([S, 4]))[0][1:]
    alone = model(source[1:, :4], ids[1:])[0]
    torch.testing.assert_close(together, alone, **EXACT)


@each_step
def test_five_steps_loss_is_the_mean_over_real_targets(wiring, rng):
    model, (source, ids) = small(wiring, rng), texts(rng)
    targets = torch.randint(V, (B, T), generator=rng)
    targets[0, 2:] = IGNORE
    logits, loss = model(source, ids, targets)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(loss, expected, **EXACT)


@each_step
def test_every_weight_of_every_step_is_trained(wiring, rng):
    model, (source, ids) = small(wiring, rng), texts(rng)
    _, loss = model(source, ids, torch.randint(V, (B, T), generator=rng))
    loss.backward()
    # a key's bias adds the same to all scores of a query, which the softmax does not feel
    felt = {n: p.grad for n, p in model.named_parameters() if not n.endswith("key.bias")}
    assert all(grad is not None and grad.abs().max() > 0 for grad in felt.values())


def shuffled_source_changes(wiring, rng) -> bool:
    model, (source, ids) = small(wiring, rng), texts(rng)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    return not torch.allclose(model(source[:, order], ids)[0], model(source, ids)[0], atol=1e-9)


def test_only_the_last_step_is_blind_to_the_order_of_the_source(rng):
    assert [shuffled_source_changes(wiring, rng) for wiring in FIVE_STEPS] == [True] * 5 + [False]
    assert shuffled_source_changes(WITH_POSITIONS[5], rng)


@pytest.mark.parametrize(
    ("step", "grows"), [(0, True), (1, True), (2, True), (3, True), (4, False), (5, False)]
)
def test_serial_steps_stop_growing_when_the_encoders_state_goes(step, grows, rng):
    model = small(FIVE_STEPS[step], rng)
    chains = [
        longest_chain(model(torch.zeros(1, n, dtype=torch.long), torch.zeros(1, 3).long())[0])
        for n in (4, 12)
    ]
    assert (chains[1] > chains[0]) == grows


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"encoder": "cnn"}, "encoder is 'cnn'; it must be recurrent, causal or full"),
        ({"encoder": "full"}, "encoder is 'full', which leaves no last state"),
        ({"has_recurrent_decoder": False}, "has_cross_attention is False"),
    ],
)
def test_wiring_rejects_what_cannot_work(wrong, message):
    with pytest.raises(ValueError, match=message):
        StepWiring(**wrong)
