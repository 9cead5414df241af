"""Six ways to train an encoder, asked in the ways they can be."""

import pytest
import torch
from torch import nn

from benchmarks import encoder_family
from benchmarks.encoder_family import ARMS, Words, asked
from course_pkg.models import IGNORE


@pytest.fixture(scope="module")
def words():
    return Words(40, 6)


def test_every_arm_trains_and_is_reported(words, monkeypatch, capsys):
    monkeypatch.setattr(encoder_family, "SEEDS", (0,))
    encoder_family.main(["--n-steps", "2"], load=lambda: words)
    out = capsys.readouterr().out
    assert out.count("asked for words") == out.count("asked for spans") == 4
    assert "XLNet, asked for order" in out and "ELECTRA, asked for replaced" in out


def test_a_model_that_knows_all_is_always_right_and_one_that_says_no_is_half(words):
    class Knowing:
        """Restores what stands there when nothing is masked: its vectors are the ids."""

        def __call__(self, ids, ranks, targets):
            return nn.functional.one_hot(ids), None

        def masked_lm(self, ids, targets):
            n, size = int((targets != IGNORE).sum()), words.tokenizer.vocab_size
            return torch.zeros(n, size), None

        def detect(self, ids):
            return torch.full(ids.shape, -1.0)

    assert asked(words, Knowing(), "order") == 100.0
    assert asked(words, Knowing(), "replaced") == 50.0


def test_arms_differ_in_what_they_read():
    assert [arm.kind for arm in ARMS.values()] == [
        *("words", "words", "spans", "spans", "order", "words"),
    ]
    assert [name for name, arm in ARMS.items() if arm.is_disentangled] == ["DeBERTa"]
