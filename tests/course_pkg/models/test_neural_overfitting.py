"""Every neural model of the first two parts learns ten sentences by heart."""

import math

import pytest
import torch

from course_pkg.layers.attention import AdditiveScore, DotScore
from course_pkg.layers.recurrent import ElmanCell, GRUCell, LSTMCell
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import next_token_rows, translation_rows

V, EOS = 30, 0


def ten_sentences(rng) -> list[list[int]]:
    """Random words; each sentence opens with another one, so that the opening tells it apart."""
    return [
        [1 + place, *torch.randint(1, V, (3 + place % 4,), generator=rng).tolist()]
        for place in range(10)
    ]


def final_loss(model, batch) -> float:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        _, loss = model(**batch)
        loss.backward()
        optimizer.step()
    return loss.item()


MODELS = {
    "window": lambda rng: FixedWindowLM(V, 6, 16, 64, eos_id=EOS, generator=rng),
    "direct": lambda rng: FixedWindowLM(V, 6, 16, 64, eos_id=EOS, has_direct=True, generator=rng),
    "elman": lambda rng: RecurrentLM(V, 32, 64, cell=ElmanCell, generator=rng),
    "lstm": lambda rng: RecurrentLM(V, 32, 64, cell=LSTMCell, generator=rng),
    "gru, written out": lambda rng: RecurrentLM(
        V, 64, 64, cell=GRUCell, is_tied=True, fused=False, generator=rng
    ),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_language_model_learns_ten_sentences(make, rng):
    batch = next_token_rows(ten_sentences(rng), EOS)
    n_targets = int((batch["targets"] >= 0).sum())
    # What cannot be learned is which of ten sentences comes: log 10 nats for each of them.
    assert final_loss(make(rng), batch) < 10 * math.log(10) / n_targets + 0.05


@pytest.mark.parametrize("score", [None, DotScore(), AdditiveScore(64, 64, 16)])
def test_seq2seq_learns_ten_translations(score, rng):
    pairs = list(zip(ten_sentences(rng), ten_sentences(rng), strict=True))
    model = Seq2Seq(V, V, 32, 64, eos_id=EOS, score=score, generator=rng)
    assert final_loss(model, translation_rows(pairs, EOS)) < 0.05
