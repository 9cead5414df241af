"""From a recipe to a model that learns: every kind, on text that every machine has."""

import json
import math

import pytest
import torch

from course_pkg.models import IGNORE
from course_pkg.models.transformer import count_parameters
from course_pkg.recipes import KINDS, Recipe, prepare
from course_pkg.recipes.data import tokenize_corpus
from course_pkg.text.corpora.running_text import load_corpus
from course_pkg.text.tokenizers.vocabulary import EOS
from course_pkg.training.trainer import Trainer
from course_pkg.weights.model_folders import save_model


def recipe(kind, **changes):
    corpus = "translations" if kind == "seq2seq" else "reference"
    settings = {"batch_size": 8, "context_length": 24, "vocab_size": 300, "n_steps": 40}
    tokenizer = changes.pop("tokenizer", None if kind == "seq2seq" else "char")
    return Recipe.of(kind, corpus, "tiny", tokenizer=tokenizer, **settings | changes)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """Where each kind's tokens stand, made once."""
    folder = tmp_path_factory.mktemp("tokens")
    return lambda kind: folder / ("plain" if kind in ("gpt", "lstm") else kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_and_reports(tokens, kind):
    prepared = prepare(recipe(kind), tokens(kind))
    before = prepared.evaluate(prepared.model.eval())
    Trainer(prepared.model, prepared.batches, recipe(kind).trainer).train()
    after = prepared.evaluate(prepared.model.eval())
    # Untrained, every token is about as likely as any other, or the model is wrong about it.
    assert before["valid_loss"] > 0.9 * math.log(prepared.tokenizer.vocab_size)
    assert after["valid_loss"] < before["valid_loss"] - 0.5
    assert isinstance(after["sample"], str)


@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_mask_rate_is_the_share_of_tokens_to_be_told(tokens, rate):
    batches = prepare(recipe("bert", mask_rate=rate), tokens("bert")).batches
    targets = torch.cat([batches.next_batch()["targets"] for _ in range(20)])
    # 160 rows of 22 tokens: the share of chosen ones strays by 0.008 at most rates.
    assert float((targets[:, 1:-1] != IGNORE).double().mean()) == pytest.approx(rate, abs=0.03)


def test_evaluating_twice_gives_the_same(tokens):
    prepared = prepare(recipe("bert"), tokens("bert"))
    model = prepared.model.eval()
    assert prepared.evaluate(model) == prepared.evaluate(model)


def test_bits_per_byte_of_a_uniform_model_are_its_code_length(tokens):
    prepared = prepare(recipe("gpt"), tokens("gpt"))
    with torch.no_grad():
        for weight in prepared.model.parameters():
            weight.zero_()
    report = prepared.evaluate(prepared.model.eval())
    about = prepared.about
    known, texts = set(prepared.tokenizer.tokens), load_corpus("reference").valid
    n_unknown = sum(len(c.encode()) for text in texts for c in text if c not in known)
    assert n_unknown > 0  # their bytes cost 8 bits each
    expected = math.log2(prepared.tokenizer.vocab_size) * about["n_valid_tokens"] + 8 * n_unknown
    assert report["valid_bits_per_byte"] == pytest.approx(expected / about["n_valid_bytes"])


def test_text_with_unknown_words_has_no_bits_per_byte(tmp_path):
    """Three words for everything cost next to nothing, and tell nothing."""
    few = recipe("gpt", tokenizer="word", vocab_size=3)
    prepared = prepare(few, tmp_path)
    report = prepared.evaluate(prepared.model.eval())
    assert "valid_loss" in report and "valid_bits_per_byte" not in report


def test_padded_vocabulary_is_a_multiple_and_never_shown(tokens):
    prepared = prepare(recipe("gpt", pad_vocab=64), tokens("gpt"))
    assert prepared.structure["vocab_size"] % 64 == 0
    assert prepared.structure["vocab_size"] > prepared.tokenizer.vocab_size
    assert isinstance(prepared.evaluate(prepared.model.eval())["sample"], str)


def test_same_seed_gives_the_same_model_and_batches(tokens):
    first, second = (prepare(recipe("gpt", seed=4), tokens("gpt")) for _ in range(2))
    pairs = zip(first.plain.parameters(), second.plain.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert torch.equal(first.batches.next_batch()["ids"], second.batches.next_batch()["ids"])


def test_processes_share_an_epoch_without_overlap(tokens):
    shares = [prepare(recipe("gpt"), tokens("gpt"), (i, 2)).batches for i in range(2)]
    drawn = [{tuple(row) for row in s.next_batch()["ids"].tolist()} for s in shares]
    assert not drawn[0] & drawn[1]


def test_recurrent_stream_rejects_several_processes(tmp_path):
    with pytest.raises(ValueError, match="there are 2 processes"):
        prepare(recipe("lstm"), tmp_path, (0, 2))


def test_tokens_are_written_once_and_checked(tmp_path):
    data = tokenize_corpus(recipe("gpt"), tmp_path)
    written = (tmp_path / "train.tokens").stat().st_mtime_ns
    again = tokenize_corpus(recipe("gpt"), tmp_path)
    assert (tmp_path / "train.tokens").stat().st_mtime_ns == written
    assert len(again.train) == len(data.train) == data.about["n_train_tokens"]
    with pytest.raises(ValueError, match="tokens of tokenizer 'char', not 'byte'"):
        tokenize_corpus(Recipe.of("gpt", "reference", "tiny", tokenizer="byte"), tmp_path)


def test_unfinished_tokens_are_made_again(tmp_path):
    tokenize_corpus(recipe("gpt"), tmp_path)
    (tmp_path / "about.json").unlink()  # what a killed run lacks
    (tmp_path / "valid.tokens").write_bytes(b"half")
    assert len(tokenize_corpus(recipe("gpt"), tmp_path).valid) > 1000


def test_corrupted_tokens_are_refused(tmp_path):
    tokenize_corpus(recipe("gpt"), tmp_path)
    file = tmp_path / "train.tokens"
    content = bytearray(file.read_bytes())
    content[5000] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"train\.tokens is corrupt"):
        tokenize_corpus(recipe("gpt"), tmp_path)


@pytest.mark.parametrize("size", ["medium", "gpt2"])
def test_larger_sizes_have_the_parameters_that_they_promise(size):
    from course_pkg.recipes.prepared import _structure
    from course_pkg.text.tokenizers import ByteTokenizer
    from course_pkg.weights.model_folders import build_model

    chosen = Recipe.of("gpt", "stories", size)
    structure = _structure(chosen, ByteTokenizer()) | {"vocab_size": chosen.vocab_size}
    with torch.device("meta"):
        n_params = count_parameters(build_model("gpt", structure))
    assert n_params == {"medium": 13_891_584, "gpt2": 124_439_808}[size]


def test_about_names_source_and_licence(tokens):
    about = json.loads((tokens("gpt") / "about.json").read_text())
    assert about["source"] == "package: pydoc_data.topics"
    assert about["licence"] == "PSF"


def test_bert_begins_with_the_weights_of_a_gpt(tokens, tmp_path):
    settings = {"n_steps": 2, "tokenizer": "bpe", "vocab_size": 300}
    gpt = prepare(recipe("gpt", **settings), tmp_path / "gpt")
    folder = tmp_path / "model"
    save_model(folder, gpt.plain, gpt.tokenizer, kind="gpt", structure=gpt.structure, card="")
    bert = prepare(recipe("bert", begin_with=str(folder), **settings), tmp_path / "bert")
    theirs, ours = gpt.plain.state_dict(), bert.plain.state_dict()
    blocks = [name for name in theirs if name.startswith("stack.")]
    assert len(blocks) > 20
    assert all(torch.equal(theirs[name], ours[name]) for name in blocks)
    for token in ("e", " the", EOS):
        row, their_row = (p.tokenizer.tokens.index(token) for p in (bert, gpt))
        assert torch.equal(ours["embedding.weight"][row], theirs["embedding.weight"][their_row])
    assert "[MASK]" in bert.tokenizer.tokens
    assert "[MASK]" not in gpt.tokenizer.tokens


def test_model_of_another_size_is_nothing_to_begin_with(tokens, tmp_path):
    lstm = prepare(recipe("lstm", d_model=20), tokens("lstm"))
    folder = tmp_path / "model"
    save_model(folder, lstm.plain, lstm.tokenizer, kind="lstm", structure=lstm.structure, card="")
    with pytest.raises(ValueError, match="a lstm of another size"):
        prepare(recipe("bert", begin_with=str(folder)), tokens("bert"))
