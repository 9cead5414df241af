"""Choosing tokens, against transformers' own processors and against distributions known exactly."""

import pytest
import torch
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from course_pkg.decoding.samplers import (
    choose,
    min_p_mask,
    next_token_probs,
    top_k_mask,
    top_p_mask,
)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("top_k", [None, 1, 4, 50])
@pytest.mark.parametrize("top_p", [None, 0.01, 0.6, 1.0])
@pytest.mark.parametrize("min_p", [None, 0.0, 0.2, 1.0])
def test_next_token_probs_matches_transformers(temperature, top_k, top_p, min_p, rng):
    logits = 2 * torch.randn(5, 13, generator=rng, dtype=torch.float64)
    expected = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k is not None:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p is not None:
        expected = TopPLogitsWarper(top_p)(None, expected)
    if min_p is not None:
        expected = MinPLogitsWarper(min_p)(None, expected)
    probs = next_token_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    torch.testing.assert_close(probs, expected.softmax(-1), rtol=0, atol=1e-10)


def test_top_k_mask_keeps_ties_with_the_last():
    scores = torch.tensor([[1.0, 3.0, 2.0, 2.0, 0.0]])
    assert top_k_mask(scores, 2).tolist() == [[False, True, True, True, False]]


def test_top_p_mask_keeps_the_token_that_crosses_p():
    log_probs = torch.tensor([[0.125, 0.5, 0.25, 0.125]], dtype=torch.float64).log()
    assert top_p_mask(log_probs, 0.6).tolist() == [[False, True, True, False]]
    assert top_p_mask(log_probs, 1e-9).tolist() == [[False, True, False, False]]


def test_min_p_mask_follows_the_likeliest_token():
    sure = torch.tensor([[0.9, 0.05, 0.05]], dtype=torch.float64).log()
    unsure = torch.tensor([[0.4, 0.31, 0.29]], dtype=torch.float64).log()
    assert min_p_mask(sure, 0.1).tolist() == [[True, False, False]]  # the bar is at 0.09
    assert min_p_mask(unsure, 0.1).all()  # and here at 0.04
    assert min_p_mask(unsure, 1).tolist() == [[True, False, False]]


@pytest.mark.parametrize("min_p", [-0.1, 1.5, float("nan")])
def test_min_p_rejects_what_is_no_share(min_p):
    with pytest.raises(ValueError, match=f"min_p is {min_p}; it must be at least 0 and at most 1"):
        choose(torch.zeros(1, 3), min_p=min_p)


def test_top_p_mask_is_taken_after_temperature():
    log_probs = torch.tensor([[0.6, 0.3, 0.1]], dtype=torch.float64).log()
    # At temperature 1/2 the squares count: 0.36 of 0.46 alone reach 0.7.
    probs = next_token_probs(log_probs, temperature=0.5, top_p=0.7)
    torch.testing.assert_close(probs[0], torch.tensor([1.0, 0, 0], dtype=torch.float64))


def test_samples_follow_the_distribution(rng):
    probs = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    n = 40_000
    tokens = choose(probs.log().expand(n, 4), temperature=1, generator=rng)
    shares = tokens.bincount(minlength=4) / n
    # Five standard deviations of a share of one half: 5 * sqrt(0.25 / 40,000).
    torch.testing.assert_close(shares.double(), probs, rtol=0, atol=0.0125)


def test_low_precision_gives_the_same_distribution():
    """In bfloat16 a running sum of small probabilities stops growing long before it reaches 1."""
    log_probs = torch.zeros(1, 4096).log_softmax(-1)
    full = next_token_probs(log_probs, top_p=0.75)
    half = next_token_probs(log_probs.bfloat16(), top_p=0.75)
    assert half.dtype == torch.float32
    assert int((full > 0).sum()) == int((half > 0).sum()) == 3072
    assert float(half.sum()) == pytest.approx(1, abs=1e-5)  # float32 over 3,072 numbers


def test_top_p_in_bfloat16_keeps_the_nucleus_of_the_same_scores_in_float64(rng):
    scores = torch.randn(3, 1000, generator=rng).bfloat16()
    for p in (0.3, 0.9):
        assert torch.equal(top_p_mask(scores, p), top_p_mask(scores.double(), p))
        ours, exact = (next_token_probs(x, top_p=p) for x in (scores, scores.double()))
        assert torch.equal(ours > 0, exact > 0)
