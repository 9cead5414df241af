"""The fixed-window model against eq. 1 of Bengio et al. 2003, one position at a time."""

import math

import numpy as np
import pytest
import torch

from course_pkg.models import IGNORE, LanguageModel
from course_pkg.models.window import FixedWindowLM

CLOSE = {"rtol": 0.0, "atol": 1e-10}  # float64 sums of a few dozen terms


def small(rng, **kwargs) -> FixedWindowLM:
    settings = {"vocab_size": 7, "window": 3, "d_embedding": 4, "d_hidden": 5, "eos_id": 2}
    return FixedWindowLM(**(settings | kwargs), generator=rng).double()


def by_hand(model: FixedWindowLM, ids: list[int]) -> np.ndarray:
    """Eq. 1 for the token after `ids`, word by word in numpy."""
    history = ([model.eos_id] * model.window + ids)[-model.window :]
    array = {name: value.detach().numpy() for name, value in model.named_parameters()}
    x = np.concatenate([array["embedding.weight"][word] for word in history])
    hidden = np.tanh(array["hidden.bias"] + array["hidden.weight"] @ x)
    y = array["output.bias"] + array["output.weight"] @ hidden
    return y + array["direct.weight"] @ x if "direct.weight" in array else y


@pytest.mark.parametrize("has_direct", [False, True])
@pytest.mark.parametrize("window", [1, 3, 6])
def test_window_matches_published_equation_at_every_position(has_direct, window, rng):
    model = small(rng, has_direct=has_direct, window=window)
    ids = torch.randint(7, (2, 5), generator=rng)
    logits, _ = model(ids)
    for row in range(2):
        for t in range(5):
            expected = by_hand(model, ids[row, : t + 1].tolist())
            np.testing.assert_allclose(logits[row, t].detach().numpy(), expected, atol=1e-10)


def test_window_is_a_language_model(rng):
    assert isinstance(small(rng), LanguageModel)


@pytest.mark.parametrize("has_direct", [False, True])
def test_window_loss_is_the_mean_over_real_targets(has_direct, rng):
    model = small(rng, has_direct=has_direct)
    ids, targets = torch.randint(7, (2, 2, 5), generator=rng)
    targets[0, 3:] = IGNORE
    logits, loss = model(ids, targets)
    log_probs = logits.log_softmax(-1)
    kept = [
        -log_probs[b, t, targets[b, t]].item()
        for b in range(2)
        for t in range(5)
        if targets[b, t] != IGNORE
    ]
    assert loss.item() == pytest.approx(sum(kept) / 8, abs=1e-10)


def test_window_next_log_probs_equal_the_last_position_and_sums_to_one(rng):
    model = small(rng)
    for length in (1, 2, 6):
        ids = torch.randint(7, (2, length), generator=rng)
        log_probs = model.next_log_probs(ids)
        torch.testing.assert_close(log_probs, model(ids)[0][:, -1].log_softmax(-1), **CLOSE)
        torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2).double(), **CLOSE)


def test_window_ignores_the_future_and_what_left_the_window(rng):
    model = small(rng)
    ids = torch.randint(7, (1, 8), generator=rng)
    changed = ids.clone()
    changed[0, 3] = (ids[0, 3] + 1) % 7
    differs = (model(ids)[0] != model(changed)[0]).any(-1)[0].tolist()
    assert differs == [False, False, False, True, True, True, False, False]


@pytest.mark.parametrize("window", [1, 2, 8])
@pytest.mark.parametrize("has_direct", [False, True])
def test_window_parameters_grow_linearly_with_the_window(window, has_direct, rng):
    model = small(rng, window=window, has_direct=has_direct)
    V, E, R = 7, 4, 5
    expected = V * E + R * (window * E + 1) + V * (R + 1) + has_direct * V * window * E
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


@pytest.mark.parametrize("has_direct", [False, True])
def test_window_gives_every_parameter_a_gradient(has_direct, rng):
    model = small(rng, has_direct=has_direct)
    ids, targets = torch.randint(7, (2, 2, 9), generator=rng)
    model(ids, targets)[1].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


def test_window_starts_near_the_uniform_distribution(rng):
    model = FixedWindowLM(50, 4, 16, 32, eos_id=0, generator=rng)
    ids, targets = torch.randint(50, (2, 8, 20), generator=rng)
    # unit-variance logits cost at most about half a nat over log V
    assert model(ids, targets)[1].item() == pytest.approx(math.log(50), abs=0.6)


def test_window_learns_a_cycle(rng):
    """0 1 2 2 0 1 2 2 ...: one token of history cannot tell the two 2s apart, two can."""
    stream = torch.tensor([0, 1, 2, 2] * 12).unsqueeze(0)
    losses = {}
    for window in (1, 2):
        model = FixedWindowLM(3, window, 4, 8, eos_id=0, generator=rng)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        for _ in range(150):
            optimizer.zero_grad()
            _, loss = model(stream[:, :-1], stream[:, 1:])
            loss.backward()
            optimizer.step()
        losses[window] = loss.item()
    # After a 2 the next is 2 or 0, half the time each: log 2 on half of the positions.
    assert losses[1] == pytest.approx(math.log(2) / 2, abs=0.02)
    assert losses[2] < 0.02


@pytest.mark.parametrize(
    ("wrong", "message"), [({"window": 0}, "window is 0"), ({"eos_id": 7}, "eos_id is 7")]
)
def test_window_rejects_a_bad_setting(wrong, message, rng):
    with pytest.raises(ValueError, match=message):
        small(rng, **wrong)
