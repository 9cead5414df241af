"""Schedules against torch, the papers' formulas, and what holds for each that a config names."""

import pytest
import torch
from torch import nn
from transformers.optimization import get_inverse_sqrt_schedule, get_wsd_schedule

from course_pkg.training import schedules
from course_pkg.training.settings import SCHEDULES, TrainerConfig


def test_cosine_schedule_meets_its_corners():
    lr = schedules.cosine_schedule(2.0, n_warmup=4, n_steps=21, final_fraction=0.25)
    # Warm-up in quarters; the peak right after it; half way down in the middle; the floor last.
    assert [lr(s) for s in range(4)] == [0.5, 1.0, 1.5, 2.0]
    assert lr(4) == 2.0
    assert lr(12) == pytest.approx(2.0 * (0.25 + 0.75 / 2), abs=1e-12)
    assert lr(20) == lr(300) == pytest.approx(0.5, abs=1e-12)


def test_cosine_schedule_after_warmup_matches_torch():
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=3.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16, eta_min=0.3)
    ours = schedules.cosine_schedule(3.0, n_warmup=0, n_steps=17)
    for step in range(17):
        assert ours(step) == pytest.approx(theirs.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        theirs.step()


def test_warmup_stable_decay_schedule_meets_its_corners():
    lr = schedules.warmup_stable_decay_schedule(2.0, n_warmup=4, n_steps=50, n_decay=16)
    assert [lr(s) for s in range(4)] == [0.5, 1.0, 1.5, 2.0]
    assert {lr(s) for s in range(4, 35)} == {2.0}  # the fall begins at 50 - 16, from the peak
    # 1 - sqrt(progress), Hägele et al. 2024: at a quarter and at 9/16 of the fall, and its end.
    assert lr(38) == pytest.approx(2.0 * (1 - 1 / 2), abs=1e-12)
    assert lr(43) == pytest.approx(2.0 * (1 - 3 / 4), abs=1e-12)
    assert lr(50) == lr(99) == 0.0 < lr(49)
    endless = schedules.warmup_stable_decay_schedule(2.0, n_warmup=4, n_steps=10_000, n_decay=0)
    assert [endless(s) for s in range(34)] == [lr(s) for s in range(34)]
    assert endless(20_000) == 2.0


def rates_of_transformers(get_schedule, **settings):
    """Rates by their scheduler. Its warm-up begins at 0 and is an update later than ours."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.02)
    scheduler = get_schedule(optimizer, **settings)
    rates = []
    for _ in range(51):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def test_inverse_sqrt_schedule_matches_transformers():
    theirs = rates_of_transformers(get_inverse_sqrt_schedule, num_warmup_steps=8)
    ours = schedules.inverse_sqrt_schedule(1, n_warmup=8, factor=0.02 * 8**0.5)
    assert [ours(step) for step in range(50)] == pytest.approx(theirs[1:], rel=1e-12)


def test_warmup_stable_decay_schedule_matches_transformers():
    settings = {"num_warmup_steps": 5, "num_stable_steps": 25, "num_decay_steps": 20}
    theirs = rates_of_transformers(get_wsd_schedule, decay_type="1-sqrt", **settings)
    sizes = {"n_warmup": 5, "n_steps": 50, "n_decay": 20}
    ours = schedules.warmup_stable_decay_schedule(0.02, **sizes)
    assert [ours(step) for step in range(5)] == pytest.approx(theirs[1:6], rel=1e-12)
    assert [ours(step) for step in range(5, 50)] == pytest.approx(theirs[5:50], rel=1e-12)


def test_inverse_sqrt_schedule_peak_matches_published():
    lr = schedules.inverse_sqrt_schedule(512, n_warmup=4000)
    # Vaswani et al. 2017, section 5.3: warmup_steps = 4000 and d_model = 512 give 7.0e-4 at most.
    assert max(range(10000), key=lr) == 3999
    assert lr(3999) == pytest.approx(6.99e-4, abs=1e-6)
    assert lr(0) == pytest.approx(lr(3999) / 4000, rel=1e-12)


def test_step_schedule_halves_after_the_constant_epochs_matches_published():
    # Zaremba et al. 2014, the small network, by the authors' program: the rate is divided at the
    # end of the fifth epoch for the first time. An epoch is three updates here.
    lr = schedules.step_schedule(1.0, every=3, n_constant=5, divisor=2.0)
    by_epoch = [{lr(3 * epoch + update) for update in range(3)} for epoch in range(8)]
    assert by_epoch == [{1.0}] * 5 + [{0.5}, {0.25}, {0.125}]


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_rises_in_a_line_to_its_peak_and_then_never_again(name):
    config = TrainerConfig(n_steps=20, lr=0.5, n_warmup=4, n_decay=8, schedule=name)
    rates = [config.learning_rates()(step) for step in range(25)]
    assert rates[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5], rel=1e-12)
    assert max(rates) == pytest.approx(0.5, rel=1e-12)
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert min(rates) >= 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: schedules.cosine_schedule(1.0, n_warmup=9, n_steps=9), "n_warmup is 9"),
        (lambda: schedules.inverse_sqrt_schedule(512, n_warmup=0), "n_warmup is 0"),
        (lambda: schedules.step_schedule(1.0, every=0, n_constant=5, divisor=2.0), "every is 0"),
        (
            lambda: schedules.step_schedule(1.0, every=3, n_constant=5, divisor=0.0),
            r"divisor is 0\.0",
        ),
        (
            lambda: schedules.warmup_stable_decay_schedule(1.0, n_warmup=5, n_steps=9, n_decay=5),
            "n_warmup is 5 and n_decay is 5",
        ),
    ],
)
def test_schedules_reject_what_cannot_work(make, message):
    with pytest.raises(ValueError, match=message):
        make()
