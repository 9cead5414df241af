"""Names drawn by their shares: entropy by hand, and no model below it."""

import math

import pytest

from benchmarks.chapters import surnames

SHARES = {"abba": 2.0, "bab": 1.0, "ab": 1.0}


def test_entropy_matches_a_case_worked_by_hand():
    assert surnames.entropy(SHARES) == pytest.approx(1.5 * math.log(2), abs=1e-12)


def test_draws_follow_the_shares():
    drawn = surnames.draw(SHARES, 4000, seed=2)
    # standard error of a share of a half in 4000 draws: 0.008
    assert drawn.count("abba") / 4000 == pytest.approx(0.5, abs=0.03)
    assert set(drawn) == set(SHARES)


def test_longer_windows_come_nearer_to_the_entropy_and_none_gets_below():
    train = surnames.draw(SHARES, 4000, seed=1)
    nats = [surnames.nats_per_name(SHARES, train, order) for order in (1, 2, 4)]
    assert nats == sorted(nats, reverse=True)
    assert surnames.entropy(SHARES) <= nats[-1] < 1.1 * surnames.entropy(SHARES)
