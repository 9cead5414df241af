"""From two runs to two folders of the package, on a corpus that is always there."""

import json

import numpy as np
import pytest
import torch

from benchmarks.weights import pretrain
from course_pkg import train
from course_pkg.models.ngram import NGram
from course_pkg.recipes import Recipe
from course_pkg.text.corpora import load_corpus
from course_pkg.weights.model_folders import load_model

CHECKPOINTS = pretrain.CHECKPOINTS  # of the package; the fixture below ships elsewhere
SIZES = {"vocab_size": 300, "d_model": 16, "n_heads": 2, "n_layers": 1}
SIZES |= {"context_length": 24, "batch_size": 2, "n_steps": 2}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Train a GPT and a BERT for two updates, and ship them."""
    tmp_path = tmp_path_factory.mktemp("shipped")
    with pytest.MonkeyPatch.context() as monkeypatch:
        _ship(tmp_path, monkeypatch)
    return tmp_path


def _ship(tmp_path, monkeypatch):
    texts = [text[:300] for text in load_corpus("reference").test[:3]]
    monkeypatch.setattr(pretrain, "parts", lambda: {"reference": texts})
    monkeypatch.setattr(pretrain, "ROOT", tmp_path)
    monkeypatch.setattr(pretrain, "CHECKPOINTS", tmp_path / "checkpoints")
    for kind in pretrain.KINDS:
        recipe = Recipe.of(kind, "reference", "tiny", tokenizer="bpe", **SIZES)
        folder = tmp_path / f"{kind}-small"
        train.run(recipe, folder, torch.device("cpu"), resume=False, fast=False)
    pretrain.main(["--runs", str(tmp_path), "ship", "--machine", "an abacus"])


def test_shipped_models_are_the_trained_ones_in_half_precision(shipped):
    for kind in pretrain.KINDS:
        trained = load_model(shipped / f"{kind}-small" / "model").model.state_dict()
        loaded = load_model(shipped / "checkpoints" / f"{kind}-small").model.state_dict()
        for name, weight in trained.items():
            assert loaded[name].dtype == torch.float32
            assert torch.equal(loaded[name], weight.half().float()), name


def test_cards_say_data_training_quality_and_licence(shipped):
    for kind, figure in (("gpt", "| reference | "), ("bert", " % |")):
        card = load_model(shipped / "checkpoints" / f"{kind}-small").card
        for fact in ("an abacus", "2 updates", "| 2 | ", "CC BY-SA 4.0", "sha256", figure):
            assert fact in card
        assert str(shipped) not in card  # it travels; the folder it was made in does not


def test_counted_model_learns_from_the_documents_of_the_run(shipped):
    tokenizer = load_model(shipped / "gpt-small" / "model").tokenizer
    documents = [tokenizer.encode(text) for text in load_corpus("reference").train]
    expected = NGram.fit(documents, pretrain.ORDER, tokenizer.vocab_size, tokenizer.eos_id)
    counted = pretrain.counted(shipped / "gpt-small", tokenizer)
    for ours, oracle in zip(counted.log_probs, expected.log_probs, strict=True):
        np.testing.assert_array_equal(ours, oracle)


@pytest.mark.parametrize("kind", pretrain.KINDS)
def test_command_repeats_what_the_shipped_card_says(kind, tmp_path):
    options = train.parse(pretrain.training(kind, tmp_path))
    recipe = train.recipe_of(options, torch.device("cpu"))
    card = " ".join(load_model(CHECKPOINTS / f"{kind}-small").card.split())
    n_tokens = recipe.trainer.n_steps * recipe.batch_size * recipe.context_length
    assert f"{recipe.trainer.n_steps:,} updates, {n_tokens / 1e6:.1f} million tokens" in card
    assert f"{pretrain._objective(recipe)}. AdamW, learning rate {recipe.trainer.lr:g}" in card
    assert f"context of {recipe.context_length} tokens" in card
    assert recipe.trainer.precision in card
    assert recipe.begin_with == (f"{tmp_path}/gpt-small/model" if kind == "bert" else None)


def test_history_holds_losses_and_what_a_gpt_wrote(shipped):
    for kind in pretrain.KINDS:
        file = shipped / "checkpoints" / f"{kind}-small" / "history.json"
        history = json.loads(file.read_text(encoding="utf-8"))
        assert [entry["step"] for entry in history][-1] == 2
        assert all(("sample" in entry) == (kind == "gpt") for entry in history)
