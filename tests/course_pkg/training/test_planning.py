"""Plans against the runs that the laws were fitted to, and against what others spent."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from course_pkg.training.compute import DATA_SHEETS, training_flops
from course_pkg.training.planning import (
    BESIROGLU,
    HOFFMANN,
    device_hours,
    main,
    training_memory,
)


@pytest.mark.parametrize("law", [HOFFMANN, BESIROGLU], ids=lambda law: law.source)
@pytest.mark.parametrize("flops", [1e18, 3e21, 5.76e23])
def test_best_run_matches_a_search_over_model_sizes(law, flops):
    found = minimize_scalar(
        lambda log_n: law.loss(np.exp(log_n), flops / 6 / np.exp(log_n)),
        bracket=(np.log(1e6), np.log(1e10)),
        tol=1e-12,
    )
    plan = law.best(flops)
    assert plan.loss == pytest.approx(found.fun, rel=1e-9)
    # A minimum is flat: where it lies is known to the square root of its value's precision.
    assert plan.n_params == pytest.approx(np.exp(found.x), rel=1e-3)
    assert plan.flops == pytest.approx(flops, rel=1e-12)


def test_loss_of_hoffmanns_law_matches_published_fit():
    # Hoffmann et al. 2022, table A3's neighbourhood by hand: 1.69 + 406.4/N^.34 + 410.7/D^.28.
    n, d = 70e9, 1.4e12
    assert HOFFMANN.loss(n, d) == pytest.approx(1.69 + 0.0837 + 0.1630, abs=2e-3)


def test_besiroglus_law_plans_chinchilla():
    """70B parameters, 1.4T tokens: 20 tokens a parameter, which the original fit misses widely."""
    plan, original = BESIROGLU.best(5.76e23), HOFFMANN.best(5.76e23)
    assert 15 < plan.n_tokens / plan.n_params < 30
    assert plan.n_params == pytest.approx(70e9, rel=0.15)
    assert original.n_tokens / original.n_params > 60


def test_device_hours_of_a_published_run_imply_a_usual_utilisation():
    # Touvron et al. 2023, table 15: LLaMA-65B, 1.4T tokens, 1,022,362 GPU hours on A100s.
    at_peak = device_hours(training_flops(65.2e9, 1.4e12), DATA_SHEETS["A100"], 1.0)
    assert 0.4 < at_peak / 1_022_362 < 0.55


def test_memory_of_gpt3_needs_many_gpus():
    assert training_memory(175e9) == 2.8e12  # 16 bytes each: Rajbhandari et al. 2020, section 3.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HOFFMANN.loss(0.0, 1e9), "n_params is 0"),
        (lambda: HOFFMANN.loss(1e9, -5.0), "n_tokens is -5"),
        (lambda: HOFFMANN.best(0.0), "flops is 0"),
        (lambda: device_hours(1e20, 1e14, 1.2), "mfu is 1.2"),
    ],
)
def test_planning_rejects_budgets_that_cannot_be(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_command_prints_a_plan(capsys):
    main(["--gpus", "8", "--days", "1", "--gpu", "A100", "--mfu", "0.4"])
    printed = capsys.readouterr().out
    assert "compute      8.63e+19 operations" in printed  # 8 x 312e12 x 0.4 x 86,400
    assert "192.0 hours of one A100 at 40% of its peak; 1.0 days on 8" in printed


@pytest.mark.parametrize("arguments", [[], ["--flops", "1e20", "--days", "2"], ["--flops", "-1"]])
def test_command_rejects_no_budget_or_two(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "flops" in capsys.readouterr().err
