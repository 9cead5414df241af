"""The recorded comparison on Wikipedia: its mixture is right, its record is whole."""

import pytest
import torch
from scipy.optimize import minimize_scalar

from benchmarks.chapters import recurrent
from course_pkg.text.corpora import Corpus


def two_models(n_tokens: int = 41) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities that two models gave to the same tokens."""
    source = torch.Generator().manual_seed(5)
    first, second = torch.rand(2, n_tokens, generator=source, dtype=torch.float64)
    return first.log(), second.log()


def test_mixture_weight_maximises_the_likelihood_matches_scipy():
    first, second = two_models()
    best = minimize_scalar(
        lambda weight: -float(recurrent.mix(first, second, weight).sum()),
        bounds=(0.001, 0.999),
        method="bounded",
        options={"xatol": 1e-8},
    )
    # expectation-maximisation converges linearly; 2000 rounds leave less than 1e-5
    assert recurrent.mixture_weight(first, second, 2000) == pytest.approx(best.x, abs=1e-5)


def test_mixture_is_an_average_of_probabilities():
    first, second = two_models()
    mixed = recurrent.mix(first, second, 0.3).exp()
    assert torch.allclose(mixed, 0.3 * first.exp() + 0.7 * second.exp(), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_measure_reports_three_models_on_one_text():
    text = "the cat sat on the mat and the dog sat on the cat . " * 4
    corpus = Corpus("toy", "here", "none", "animals", [text] * 30, [text] * 2, [text])
    figures = recurrent.measure(corpus, n_epochs=2)
    rows = figures["rows"]
    assert set(rows) == {"5-gram", "LSTM", "LSTM and 5-gram"}
    assert all(row["test_perplexity"] >= 1 for row in rows.values())
    assert 0 <= figures["weight_of_lstm"] <= 1
    assert len(figures["valid_perplexity_by_epoch"]) == 2
