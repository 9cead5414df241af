"""The comparison of attention scores: its control looks everywhere, and what is judged adds up."""

import pytest
import torch

from benchmarks.chapters.attention_scores import SCORES, MeanScore, judge, passages, train


def test_mean_score_gives_every_word_the_same_weight(rng):
    queries, keys = (torch.randn(2, n, 5, generator=rng) for n in (3, 7))
    weights = MeanScore()(queries, keys).softmax(dim=-1)
    assert torch.equal(weights, torch.full((2, 3, 7), 1 / 7))


@pytest.mark.slow
def test_judge_reads_shares_and_weights_of_the_true_words():
    test = passages()[1][:40]
    found, weights = judge(train(SCORES["dot product"](), seed=0, n_steps=100), test)
    assert len(found["right"]) == 4
    assert 0 <= found["word"] <= found["near"] <= 1
    for passage, w in zip(test, weights, strict=True):
        assert w.shape == (len(passage.target), len(passage.source))
        torch.testing.assert_close(w.sum(dim=-1), torch.ones(len(w)))
