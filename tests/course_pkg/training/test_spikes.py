import math

import pytest

from course_pkg.training.spikes import N_LEAST, SpikeDetector


def settled(usual, **settings):
    detector = SpikeDetector(**({"factor": 3.0, "margin": 0.5} | settings))
    assert detector.first_spike([usual] * N_LEAST) is None
    return detector


@pytest.mark.parametrize(
    ("usual", "loss", "is_spike"),
    [
        (2.0, 5.9, False),
        (2.0, 6.1, True),  # beyond three times the usual
        (0.001, 0.1, False),  # a hundred times almost nothing
        (0.001, 0.49, False),
        (0.001, 0.6, True),  # beyond half a nat above it
        (-1.5, -1.2, False),  # losses may be negative, as likelihoods of densities are
        (-1.5, -0.9, True),
    ],
)
def test_spike_lies_far_above_the_usual_loss_by_factor_and_margin(usual, loss, is_spike):
    assert settled(usual).first_spike([loss]) == (loss if is_spike else None)


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_first_loss_that_is_no_number_is_a_spike(loss):
    found = SpikeDetector(3.0, 0.5).first_spike([1.0, loss, 2.0])
    assert found is not None and not math.isfinite(found)


def test_nothing_is_unusual_before_there_are_enough_losses():
    detector = SpikeDetector(3.0, 0.5)
    assert detector.first_spike([0.1] * (N_LEAST - 1) + [90.0]) is None


def test_usual_is_the_median_of_the_recent_losses():
    detector = settled(9.0)
    assert detector.first_spike([0.1] * 60) is None  # the run has learned
    assert detector.first_spike([20.0]) == 20.0
