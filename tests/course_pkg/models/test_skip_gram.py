"""Skip-gram with negative sampling, against its closed-form optimum and sums by hand."""

import math
from collections import Counter

import pytest
import torch

from course_pkg.models import IGNORE
from course_pkg.models.skip_gram import SkipGram, keep_probabilities, skip_gram_pairs

V = 5


def model(rng, counts=(4, 1, 3, 2, 6), d_embedding=7, **options):
    made = SkipGram(torch.tensor(counts), d_embedding, generator=rng, **options).double()
    torch.nn.init.normal_(made.context.weight, std=0.5, generator=rng)
    return made


def test_loss_matches_a_sum_by_hand(rng):
    found = model(rng, n_negative=2)
    ids, targets = torch.tensor([1, 4, 0]), torch.tensor([2, IGNORE, 3])
    negatives = torch.tensor([[0, 4], [1, 1], [3, 2]])
    scores, loss = found(ids, targets, negatives)
    v, u = found.embedding.weight.tolist(), found.context.weight.tolist()

    def log_sigmoid(w, c, sign):
        return -math.log1p(math.exp(-sign * sum(a * b for a, b in zip(v[w], u[c], strict=True))))

    expected = log_sigmoid(1, 2, 1) + log_sigmoid(1, 0, -1) + log_sigmoid(1, 4, -1)
    expected += log_sigmoid(0, 3, 1) + log_sigmoid(0, 3, -1) + log_sigmoid(0, 2, -1)
    assert loss.item() == pytest.approx(-expected / 2, abs=1e-12)  # per pair
    assert scores.shape == (3, 3)


def test_dot_products_reach_pointwise_mutual_information(rng):
    """Levy & Goldberg 2014: with enough dimensions, PMI - log k; here all of the noise is exact."""
    joint = torch.rand(V, V, generator=rng, dtype=torch.float64) + 0.2
    joint = joint / joint.sum()
    words, contexts = joint.sum(1), joint.sum(0)
    k = 3
    found = model(rng, n_negative=V)
    optimizer = torch.optim.LBFGS(found.parameters(), max_iter=2000, tolerance_grad=1e-12,
                                  tolerance_change=0, line_search_fn="strong_wolfe")  # fmt: skip
    pairs = torch.cartesian_prod(torch.arange(V), torch.arange(V))

    def closure():
        """The expectation over all pairs, and over noise drawn like contexts, k for each."""
        optimizer.zero_grad()
        scores, _ = found(pairs[:, 0], pairs[:, 1], pairs[:, 1:].expand(-1, V))
        scores = scores[:, 0].view(V, V)
        positive = joint * torch.nn.functional.logsigmoid(scores)
        negative = k * words[:, None] * contexts * torch.nn.functional.logsigmoid(-scores)
        loss = -(positive + negative).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    dots = (found.embedding.weight @ found.context.weight.T).detach()
    pmi = (joint / words[:, None] / contexts).log()
    torch.testing.assert_close(dots, pmi - math.log(k), rtol=0, atol=1e-4)


def test_noise_is_drawn_by_flattened_counts(rng):
    found = SkipGram(torch.tensor([16, 1, 0, 81]), 3, n_negative=4)
    drawn = found.draw(5000, rng)
    assert drawn.shape == (5000, 4)
    shares = torch.bincount(drawn.flatten(), minlength=4) / drawn.numel()
    # 16^0.75 = 8, 1, 0 and 81^0.75 = 27; 20,000 draws: three standard deviations are 0.01
    assert shares.tolist() == pytest.approx([8 / 36, 1 / 36, 0, 27 / 36], abs=0.01)


def test_pairs_are_near_ones_the_nearer_the_likelier(rng):
    documents = [list(range(40)), [50, 51]]
    found = Counter(
        abs(int(a) - int(b))
        for _ in range(50)
        for a, b in skip_gram_pairs(documents, 3, generator=rng)
    )
    assert set(found) == {1, 2, 3}  # and none from one document to the next
    # a word reaches distance d with probability (4 - d) / 3
    expected = {1: 2 * 50 * 40, 2: 2 * 50 * 38 * 2 / 3, 3: 2 * 50 * 37 / 3}
    for distance, n in expected.items():
        assert found[distance] == pytest.approx(n, rel=0.06)


def test_every_pair_of_window_one_comes_both_ways(rng):
    found = skip_gram_pairs([[3, 1, 4]], 1, generator=rng)
    assert sorted(map(tuple, found.tolist())) == [(1, 3), (1, 4), (3, 1), (4, 1)]


def test_frequent_words_are_thinned_out_as_in_the_paper(rng):
    counts = torch.tensor([900, 90, 10])
    keep = keep_probabilities(counts, threshold=0.1)
    assert keep.tolist() == pytest.approx([math.sqrt(0.1 / 0.9), 1.0, 1.0])
    # word 0 is always dropped: 1 and 2 are neighbours although it stood between them
    never = torch.tensor([0.0, 1.0, 1.0])
    found = skip_gram_pairs([[1, 0, 2]], 1, keep=never, generator=rng)
    assert sorted(map(tuple, found.tolist())) == [(1, 2), (2, 1)]


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="n_negative is 0"):
        SkipGram(torch.ones(3, dtype=torch.int64), 2, n_negative=0)
    with pytest.raises(ValueError, match="window is 0"):
        skip_gram_pairs([[1, 2]], 0)
    with pytest.raises(ValueError, match="no two words side by side"):
        skip_gram_pairs([[1], []], 2)
