"""Parameters of the smoothing methods: estimated well, or rejected with a reason."""

import numpy as np
import pytest
import torch

from course_pkg.models.ngram import NGram
from course_pkg.models.ngram.counts import NGramTables
from course_pkg.models.ngram.smoothing import (
    AbsoluteDiscounting,
    AddK,
    Interpolated,
    KneserNey,
    ModifiedKneserNey,
    Smoothing,
    fit_weights,
)

EOS, V = 0, 4
DOCUMENTS = [[1, 2, 1, 3], [1, 2], [2]]
TABLES = NGramTables.count(DOCUMENTS, 2, V, EOS)


def log_likelihood(weights, probs, is_known):
    """Mean log-probability of the targets under a renormalised mixture."""
    mixed = (probs * is_known * weights).sum(1) / (is_known * weights).sum(1)
    return np.log(mixed).mean()


def test_fit_weights_finds_no_better_neighbour():
    random = np.random.default_rng(7)
    probs = random.random((300, 4))
    is_known = np.ones((300, 4), bool)
    is_known[:90, 3] = is_known[:40, 2] = False
    weights = np.array(fit_weights(probs, is_known))
    assert weights.sum() == pytest.approx(1, abs=1e-12)  # rounding of one sum
    best = log_likelihood(weights, probs, is_known)
    for _ in range(200):
        other = np.abs(weights + 0.03 * random.standard_normal(4))
        # EM stops when a round gains less than 1e-7; so near the top it may be that far below.
        assert log_likelihood(other / other.sum(), probs, is_known) < best + 1e-5


def test_fit_weights_finds_the_mixture_that_made_the_text():
    # Two dice: the uniform over 2 and a coin that shows side 1 with 0.9. Mixed 3 : 7, side 1
    # comes with 0.3 * 0.5 + 0.7 * 0.9 = 0.78; 78 of 100 targets therefore ask for 0.3 and 0.7.
    probs = np.array([[0.5, 0.9]] * 78 + [[0.5, 0.1]] * 22)
    weights = fit_weights(probs, np.ones((100, 2), bool))
    assert weights == pytest.approx((0.3, 0.7), abs=5e-3)  # stops 1e-7 nats short of the top


def test_interpolated_prefers_the_order_that_predicts():
    # Held-out text that repeats training bigrams exactly, against text without any order.
    orderly = Interpolated(held_out=[[1, 2, 1, 3], [1, 2]]).fitted(TABLES)
    disorderly = Interpolated(held_out=[[3, 3, 2, 2, 3, 1, 1, 3]]).fitted(TABLES)
    assert orderly.weights[2] > 0.9 > 0.1 > disorderly.weights[2]


@pytest.mark.parametrize("method", [KneserNey(), AbsoluteDiscounting(), ModifiedKneserNey()])
def test_fitted_estimates_one_entry_per_order(method):
    assert isinstance(method, Smoothing)
    assert method.discounts is None
    assert len(method.fitted(TABLES).discounts) == 2


def test_fitted_keeps_given_discounts():
    assert KneserNey((0.5, 0.6)).fitted(TABLES).discounts == (0.5, 0.6)


def test_fitted_uses_the_fallback_where_a_corpus_is_too_small():
    tables = NGramTables.count([[1]], 2, V, EOS)
    assert ModifiedKneserNey().fitted(tables).discounts == ((0.5, 1.0, 1.5), (0.5, 1.0, 1.5))
    assert KneserNey().fitted(tables).discounts == (0.75, 0.75)


def test_add_k_rejects_k_zero():
    with pytest.raises(ValueError, match="k is 0"):
        AddK(0)


@pytest.mark.parametrize("both", [{}, {"weights": (0.5, 0.5), "held_out": [[1]]}])
def test_interpolated_rejects_neither_or_both_of_weights_and_held_out(both):
    with pytest.raises(ValueError, match="either weights or held_out"):
        Interpolated(**both)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (KneserNey((0.5,)), "discounts has 1 entries"),
        (KneserNey((0.5, 1.5)), "1.5"),
        (AbsoluteDiscounting((0.0, 0.5)), "is 0.0"),
        (ModifiedKneserNey(((0.5, 1.0, 1.5), (0.5, 2.5, 1.5))), "count 2 is 2.5"),
        (Interpolated((0.5, 0.5)), "weights has 2 entries"),
    ],
)
def test_fitted_rejects_parameters_that_make_no_distribution(method, message):
    with pytest.raises(ValueError, match=message):
        method.fitted(TABLES)


@pytest.mark.parametrize("method", [KneserNey(), ModifiedKneserNey()])
def test_share_rejects_parameters_not_yet_fitted(method):
    with pytest.raises(ValueError, match="discounts is None"):
        method.discount(TABLES.at_order(1))


def test_fit_weights_leave_backoff_mass_when_the_highest_order_is_always_right():
    probs = np.array([[0.25, 0.25, 1.0]] * 7)
    weights = fit_weights(probs, np.ones((7, 3), bool))
    assert weights[2] == pytest.approx(1, abs=1e-5)  # LEAST_BACKOFF_MASS for each of two lower ones
    assert min(weights) > 0
    counts = [[1, 2, 3], [1, 2, 3]]
    fitted = NGram.fit(counts, 3, 4, 0, Interpolated(held_out=counts))
    assert fitted.next_log_probs(torch.tensor([[0, 3, 3]])).exp().sum() == pytest.approx(1)
