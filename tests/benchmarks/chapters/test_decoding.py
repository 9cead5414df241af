"""What a sampler's settings leave of a distribution, by hand."""

import math

import pytest
import torch

from benchmarks.chapters import decoding
from benchmarks.chapters.backbones import Pretrained

LOG_PROBS = torch.tensor([[0.5, 0.25, 0.25], [0.8, 0.1, 0.1]]).log()
TARGETS = torch.tensor([2, 0])


def test_untouched_distribution_is_described_by_hand():
    found = decoding.describe(LOG_PROBS, TARGETS, {})
    first, second = 1.5 * math.log(2), -0.8 * math.log(0.8) - 0.2 * math.log(0.1)
    assert found["entropy_nats"] == pytest.approx((first + second) / 2, abs=1e-6)  # float32
    assert found["n_candidates"] == pytest.approx(3)
    assert found["percent_of_true_tokens_cut_off"] == 0


def test_truncation_cuts_true_tokens_off():
    found = decoding.describe(LOG_PROBS, TARGETS, {"top_k": 1})
    assert found == {"n_candidates": 1, "entropy_nats": 0, "percent_of_true_tokens_cut_off": 50}


def test_every_place_is_predicted_from_what_stands_before_it(checkpoints):
    model = Pretrained(checkpoints["gpt"])
    log_probs, targets = decoding.predictions(model, ["abc", "d"], "cpu")
    assert targets.tolist() == [97, 98, 99, model.eos_id, 100, model.eos_id]
    alone = model.model(torch.tensor([[model.eos_id]]))[0][0, 0].log_softmax(dim=-1)
    # float32: the same sums for one row of one token and for longer ones
    torch.testing.assert_close(log_probs[4], alone.detach(), rtol=0, atol=1e-5)
