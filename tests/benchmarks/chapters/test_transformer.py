"""The recorded comparisons of transformers: equal sizes, an honest search, whole records."""

import pytest
import torch

from benchmarks.chapters import transformer
from course_pkg.models.transformer import count_parameters
from course_pkg.text.corpora import Corpus


def toy_corpus() -> Corpus:
    text = "the cat sat on the mat and the dog sat on the cat . " * 9
    return Corpus("toy", "here", "none", "animals", [text] * 9, [text] * 2, [text])


def test_models_that_are_compared_have_about_as_many_parameters():
    source = torch.Generator().manual_seed(0)
    sizes = [count_parameters(make(98, source)) for make in transformer.arms().values()]
    assert max(sizes) < 1.1 * min(sizes)


@pytest.mark.parametrize("best", transformer.RATES[1:-1])
def test_search_finds_the_best_rate_and_tries_both_neighbours(best):
    found, tried = transformer.best_rate(lambda lr: abs(torch.tensor(lr / best).log()).item())
    assert found == best
    place = transformer.RATES.index(best)
    assert {f"{r:g}" for r in transformer.RATES[place - 1 : place + 2]} <= tried.keys()


def test_rewired_blocks_compute_their_equations():
    made = transformer.arms(16, 1)
    model = made["no residual"](20, torch.Generator().manual_seed(0))
    (block,) = model.stack.blocks
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))
    inner = block.attention(block.norms[0](x), is_causal=True)
    expected = block.feed_forward(block.norms[1](inner))
    torch.testing.assert_close(block(x, is_causal=True), expected)
    model = made["attention only"](20, torch.Generator().manual_seed(0))
    assert len(model.stack.blocks) == 3
    block = model.stack.blocks[0]
    expected = x + block.attention(block.norms[0](x), is_causal=True)
    torch.testing.assert_close(block(x, is_causal=True), expected)


@pytest.mark.slow
def test_measure_reports_every_seed_of_the_chosen_rate(monkeypatch):
    monkeypatch.setattr(transformer, "BATCH_SIZE", 2)
    made, kept = transformer.arms(16, 1), []
    chosen = {"rotary": made["rotary"]}
    figures = transformer.measure_arms(toy_corpus(), 12, chosen, keep=kept.append)
    arm = figures["arms"]["rotary"]
    assert len(arm["test_nats"]) == len(arm["curves"]) == len(transformer.SEEDS)
    assert len(set(arm["test_nats"])) == len(transformer.SEEDS)
    assert arm["valid_nats_by_rate"][f"{arm['lr']:g}"] == min(arm["valid_nats_by_rate"].values())
    assert len(kept) == 1


@pytest.mark.slow
def test_broken_off_measurement_goes_on_with_the_first_missing_arm(monkeypatch):
    monkeypatch.setattr(transformer, "BATCH_SIZE", 2)
    made = {name: transformer.arms(16, 1)[name] for name in ("rotary", "wiring C")}
    done = {"rotary": {"lr": 0.5, "test_nats": [1.0]}}
    figures = transformer.measure_arms(toy_corpus(), 12, made, done=done)["arms"]
    assert list(figures) == ["rotary", "wiring C"]
    assert figures["rotary"] == done["rotary"]
    assert len(figures["wiring C"]["test_nats"]) == len(transformer.SEEDS)


@pytest.mark.slow
def test_stories_are_measured_whole(monkeypatch):
    monkeypatch.setattr(transformer, "BATCH_SIZE", 2)
    made = {"plain Adam": transformer.story_arms()["plain Adam"]}
    arm = transformer.measure_stories(toy_corpus(), 12, made)["arms"]["plain Adam"]
    assert len(set(arm["test_nats"])) == len(transformer.SEEDS)
    assert arm["valid_nats_by_rate"][f"{arm['lr']:g}"] == min(arm["valid_nats_by_rate"].values())


def test_lstm_reads_as_much_as_the_transformer_where_the_text_is_to_be_equal(monkeypatch):
    monkeypatch.setattr(transformer, "BATCH_SIZE", 2)
    monkeypatch.setattr(transformer, "tune_and_repeat", lambda fit: ({"lr": 0.01}, []))
    monkeypatch.setattr(transformer.statistics, "mean", lambda values: 0.0)
    figures = transformer.measure_text(toy_corpus(), (4, 10))
    for name in ("LSTM", "rotary"):
        assert [amount["n_steps"] for amount in figures["arms"][name]] == [4, 10]
    assert figures["n_characters_read"] == [4 * 2 * transformer.LENGTH, 10 * 2 * transformer.LENGTH]
