"""BART's noises: what stays, how much goes, and what they refuse."""

from collections import Counter

import pytest
import torch

from course_pkg.text.batches.noising import (
    delete_tokens,
    infill_spans,
    permute_sentences,
    rotate,
)

IDS, MASK = list(range(10, 50)), 99


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def is_subsequence(part: list[int], whole: list[int]) -> bool:
    rest = iter(whole)
    return all(token in rest for token in part)


def test_delete_keeps_the_order_and_about_the_share(rng):
    kept = [delete_tokens(IDS, 0.3, rng) for _ in range(200)]
    assert all(is_subsequence(tokens, IDS) for tokens in kept)
    n = 200 * len(IDS)
    assert abs(sum(map(len, kept)) - 0.7 * n) < 4 * (n * 0.3 * 0.7) ** 0.5  # four deviations
    assert delete_tokens(IDS, 0.0, rng) == IDS
    assert delete_tokens(IDS, 1.0, rng) == []


def test_infill_hides_exactly_the_share_behind_one_mask_a_span(rng):
    for rate in (0.1, 0.3, 1.0):
        for _ in range(50):
            noised = infill_spans(IDS, rate, MASK, rng)
            kept = [token for token in noised if token != MASK]
            assert len(IDS) - len(kept) == round(rate * len(IDS))
            assert is_subsequence(kept, IDS)
            assert MASK in noised
    assert infill_spans(IDS, 0.0, MASK, rng) == IDS


def test_infill_draws_lengths_from_a_poisson_distribution(rng):
    # Of one long text: a mask between kept neighbours a, b hides b - a - 1 tokens, a pair of
    # masks side by side cannot be told apart and is left out.
    text, lengths = list(range(40_000)), Counter()
    noised = [-1, *infill_spans(text, 0.05, 10**6, rng), 40_000]
    for before, token, after in zip(noised, noised[1:], noised[2:], strict=False):
        if token == 10**6 and 10**6 not in (before, after):
            lengths[after - before - 1] += 1
    n = lengths.total()
    expected = torch.distributions.Poisson(3.0).log_prob(torch.arange(7.0)).exp()
    for length, p in enumerate(expected.tolist()):
        assert abs(lengths[length] - n * p) < 4 * (n * p * (1 - p)) ** 0.5, length


def test_permute_keeps_sentences_whole_and_finds_every_order(rng):
    text, orders = [1, 2, 0, 3, 0, 4], Counter()
    for _ in range(600):
        orders[tuple(permute_sentences(text, [0], rng))] += 1
    assert len(orders) == 6
    assert all(sorted(order) == sorted(text) for order in orders)
    assert min(orders.values()) > 100 - 4 * 100**0.5
    assert permute_sentences([], [0], rng) == []


def test_rotate_begins_at_every_token(rng):
    starts = {rotate(IDS[:5], rng)[0] for _ in range(100)}
    assert starts == set(IDS[:5])
    turned = rotate(IDS, rng)
    start = turned.index(IDS[0])
    assert turned[start:] + turned[:start] == IDS


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (lambda g: delete_tokens(IDS, 1.2, g), "rate is 1.2"),
        (lambda g: infill_spans(IDS, -0.1, MASK, g), "rate is -0.1"),
        (lambda g: infill_spans(IDS, 0.3, MASK, g, mean_length=0.0), "mean_length is 0"),
        (lambda g: rotate([], g), "ids is empty"),
    ],
)
def test_noises_reject_what_they_cannot_do(noise, message, rng):
    with pytest.raises(ValueError, match=message):
        noise(rng)
