"""The comparison of position schemes: its windows, its losses, its tuning."""

import pytest
import torch

from benchmarks.chapters import positions
from course_pkg.models.gpt import GPT
from course_pkg.text.corpora import Corpus


def test_windows_have_the_next_token_as_target():
    ids, targets = positions.cut(torch.arange(11), length=3, n_windows=9)
    assert ids.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert torch.equal(targets, ids + 1)


def test_loss_by_position_averages_to_the_loss():
    model = GPT(positions.structure(7, "rotary"), generator=torch.Generator().manual_seed(0))
    ids = torch.randint(7, (5, 9), generator=torch.Generator().manual_seed(1))
    windows = ids[:, :-1], ids[:, 1:]
    losses = positions.loss_by_position(model, windows, batch_size=2)
    assert losses.shape == (8,)
    assert float(losses.mean()) == pytest.approx(model(*windows)[1].item(), abs=1e-5)  # float32


def test_rate_rises_while_the_largest_is_the_best(monkeypatch):
    """On this toy more is better at first: two tiny rates cannot be the end of the search."""
    monkeypatch.setattr(positions, "SCHEMES", ("rotary",))
    monkeypatch.setattr(positions, "RATES", (1e-6, 1e-3))
    monkeypatch.setattr(positions, "SEEDS", (0, 1))
    text = "the cat sat on the mat and the dog sat on the cat . " * 4
    corpus = Corpus("toy", "here", "none", "animals", [text] * 9, [text] * 6, [text] * 6)
    figures = positions.measure(corpus, n_steps=2)
    row = figures["schemes"]["rotary"]
    tried = [float(rate) for rate in row["valid_nats_by_lr"]]
    assert len(tried) > 2 and row["lr"] < max(tried)
    assert len(row["test_nats_by_seed"]) == 2
    assert all(len(losses) == len(positions.EDGES) - 1 for losses in row["test_nats_by_seed"])
