"""A trained model in a folder: what is saved is what is loaded."""

import json
import os

import pytest
import torch

from course_pkg.layers.attention import DotScore
from course_pkg.models.adaptation import add_lora, merge_lora
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.tokenizers import ByteTokenizer
from course_pkg.weights import model_folders
from course_pkg.weights.model_folders import KINDS, build_model, load_model, save_model

V = 257
TRANSFORMER = {
    "vocab_size": V,
    "context_length": 9,
    "d_model": 12,
    "n_heads": 3,
    "n_layers": 2,
    "d_ff": 20,
    "positions": "learned",
}
STRUCTURES = {
    "gpt": TRANSFORMER,
    "bert": {**TRANSFORMER, "block": "post_norm"},
    "t5": {**TRANSFORMER, "positions": "sinusoidal"},
    "lstm": {"vocab_size": V, "d_embedding": 6, "d_hidden": 6, "n_layers": 2, "is_tied": True},
    "seq2seq": {
        "source_vocab_size": V,
        "vocab_size": V,
        "d_embedding": 5,
        "d_hidden": 6,
        "eos_id": 256,
    },
}
IDS = torch.tensor([[1, 7, 250, 3]])


def build(kind):
    return build_model(kind, STRUCTURES[kind], generator=torch.Generator().manual_seed(5))


def save(folder, kind="gpt"):
    model = build(kind)
    save_model(
        folder, model, ByteTokenizer(), kind=kind, structure=STRUCTURES[kind], card="# A card\n"
    )
    return model


def logits(kind, model):
    sources = (IDS, IDS) if kind in ("t5", "seq2seq") else (IDS,)
    return model.eval()(*sources)[0]


def test_every_kind_has_a_test():
    assert set(STRUCTURES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_model_folder_round_trips(tmp_path, kind):
    model = save(tmp_path / "model", kind)
    loaded = load_model(tmp_path / "model")
    assert loaded.kind == kind
    assert loaded.card == "# A card\n"
    assert not loaded.model.training
    assert torch.equal(logits(kind, loaded.model), logits(kind, model))
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("né")) == "né"


@pytest.mark.parametrize(
    ("is_pre_norm", "wiring", "block"),
    [(True, "A", "pre_norm"), (True, "D", "parallel_two_norms"), (False, "A", "post_norm")],
)
def test_folders_of_earlier_versions_are_read(tmp_path, is_pre_norm, wiring, block):
    structure = {**TRANSFORMER, "block": block}
    model = build_model("gpt", structure, generator=torch.Generator().manual_seed(5))
    folder = tmp_path / "model"
    save_model(folder, model, ByteTokenizer(), kind="gpt", structure=structure, card="")
    config = json.loads((folder / "config.json").read_text())
    del config["structure"]["block"]
    config["structure"] |= {"is_pre_norm": is_pre_norm, "wiring": wiring}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "SHA256SUMS").unlink()
    loaded = load_model(folder).model
    assert loaded.config == model.config
    assert torch.equal(logits("gpt", loaded), logits("gpt", model))


def test_saving_again_replaces_the_folder(tmp_path):
    save(tmp_path / "model", "gpt")
    save(tmp_path / "model", "lstm")
    assert load_model(tmp_path / "model").kind == "lstm"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_that_fails_leaves_the_earlier_folder(tmp_path):
    save(tmp_path / "model", "gpt")

    class NoTokenizer(ByteTokenizer):
        def save(self, path):
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        save_model(
            tmp_path / "model",
            build("lstm"),
            NoTokenizer(),
            kind="lstm",
            structure=STRUCTURES["lstm"],
            card="",
        )
    assert load_model(tmp_path / "model").kind == "gpt"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_removes_nobodys_files(tmp_path, monkeypatch):
    mine = tmp_path / "thesis"
    mine.mkdir()
    save(mine)  # an empty folder will do
    for name in ("chapter-1.tex", "figures", "data.csv", "notes"):
        (mine / name).write_text("years of work")
    before = {path.name: path.read_bytes() for path in mine.iterdir()}
    with pytest.raises(FileExistsError, match=r"chapter-1.tex, data.csv, figures and 1 more"):
        save(mine, "lstm")
    assert {path.name: path.read_bytes() for path in mine.iterdir()} == before
    monkeypatch.chdir(mine)
    for folder in (".", "..", tmp_path):
        with pytest.raises(ValueError, match="in which you work"):
            save(folder)
    assert {path.name: path.read_bytes() for path in mine.iterdir()} == before


def test_saving_replaces_no_model_of_another_package(tmp_path):
    theirs = {"config.json": '{"model_type": "bert"}', "model.safetensors": "weights"}
    for name, text in theirs.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(FileExistsError, match="no model of this package"):
        save(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == theirs


@pytest.mark.parametrize("n_renamed", [0, 1])
def test_one_whole_model_is_there_wherever_saving_breaks_off(tmp_path, monkeypatch, n_renamed):
    save(tmp_path / "model", "gpt")
    renamed, rename = [], os.rename

    def full(source, target):
        renamed.append(target)
        if len(renamed) == n_renamed + 1:
            raise OSError("no space left on device")
        rename(source, target)

    monkeypatch.setattr(model_folders.os, "rename", full)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path / "model", "lstm")
    assert load_model(tmp_path / "model").kind == "gpt"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "card.md"])
def test_loading_rejects_a_folder_with_a_missing_or_damaged_file(tmp_path, name):
    save(tmp_path / "model")
    file = tmp_path / "model" / name
    if name != "card.md":
        file.write_bytes(b"{not this")
        with pytest.raises(ValueError, match="does not hold a trained model"):
            load_model(tmp_path / "model")
    file.unlink()
    with pytest.raises(ValueError, match=name):
        load_model(tmp_path / "model")


def test_loading_rejects_weights_of_another_structure(tmp_path):
    save(tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    fields = json.loads(config.read_text())
    fields["structure"]["d_ff"] = 24
    config.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=r"config\.json is not as it was written"):
        load_model(tmp_path / "model")
    (tmp_path / "model" / "SHA256SUMS").unlink()  # it was changed on purpose
    with pytest.raises(ValueError, match="size mismatch"):
        load_model(tmp_path / "model")


def test_building_rejects_unknown_kinds_and_structures():
    with pytest.raises(ValueError, match="kind is 'rwkv'; it must be one of gpt, bert"):
        build_model("rwkv", {})
    with pytest.raises(ValueError, match="structure does not fit kind 'gpt'"):
        build_model("gpt", {"layers": 3})


def save_as(folder, model, tokenizer=None, **changes):
    arguments = {"kind": "gpt", "structure": TRANSFORMER, "card": "", **changes}
    save_model(folder, model, tokenizer or ByteTokenizer(), **arguments)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("gpt", {"kind": "gtp"}, "kind is 'gtp'; it must be one of gpt, bert"),
        ("gpt", {"kind": "bert"}, "kind is 'bert'; the model must be BERT, and is GPT"),
        ("seq2seq", {"kind": "t5"}, "must be EncoderDecoder, and is Seq2Seq"),
        ("gpt", {"structure": {**TRANSFORMER, "d_ff": 24}}, r"structure makes .*\(24,"),
        (
            "gpt",
            {"structure": {**TRANSFORMER, "n_layers": 1}},
            "'missing|structure makes .*missing",
        ),
        ("gpt", {"structure": {**TRANSFORMER, "is_tied": False}}, "structure makes unembedding"),
        ("gpt", {"structure": {}}, "structure does not fit kind 'gpt'"),
        (
            "lstm",
            {"kind": "lstm", "structure": {**STRUCTURES["lstm"], "is_tied": False}},
            r"output\.weight .*; the model's is .*, the same as embedding\.weight",
        ),
        # Weights of these have the same names and shapes.
        ("gpt", {"structure": {**TRANSFORMER, "n_heads": 2}}, "makes n_heads 2; the model's is 3"),
        (
            "bert",
            {"kind": "bert", "structure": {**STRUCTURES["bert"], "activation": "relu"}},
            "structure makes activation 'relu'; the model's is 'gelu'",
        ),
        (
            "seq2seq",
            {"kind": "seq2seq", "structure": {**STRUCTURES["seq2seq"], "eos_id": 0}},
            "structure makes eos_id 0; the model's is 256",
        ),
        ("gpt", {"structure": TransformerConfig(**TRANSFORMER)}, "structure is TransformerConfig"),
        ("gpt", {"card": None}, "card is NoneType; it must be text"),
        ("gpt", {"tokenizer": "bpe"}, "tokenizer is str; it must have vocab_size and save"),
    ],
)
def test_saving_refuses_what_could_not_be_loaded_as_it_is(tmp_path, kind, changes, message):
    with pytest.raises(ValueError, match=message):
        save_as(tmp_path / "model", build(kind), **changes)
    assert not list(tmp_path.iterdir())


def test_saving_names_what_stands_between_a_model_and_its_structure(tmp_path):
    dots = Seq2Seq(**STRUCTURES["seq2seq"], score=DotScore())
    with pytest.raises(ValueError, match="score 'ScaledDotScore'; the model's is 'DotScore'"):
        save_as(tmp_path / "m", dots, kind="seq2seq", structure=STRUCTURES["seq2seq"])
    with pytest.raises(ValueError, match=r"model is compiled; save .* model\._orig_mod"):
        save_as(tmp_path / "m", torch.compile(build("gpt")))
    thin = build("gpt")
    add_lora(thin, 2)
    with pytest.raises(ValueError, match="call merge_lora first"):
        save_as(tmp_path / "m", thin)
    merge_lora(thin)
    save_as(tmp_path / "m", thin)


@pytest.mark.parametrize("n_tokens", [11, 256, 257 + 64 - 1, 257 + 129])
def test_tokenizer_must_be_of_the_models_vocabulary(tmp_path, n_tokens):
    structure = {**TRANSFORMER, "vocab_size": n_tokens}
    model = build_model("gpt", structure)
    if n_tokens == 320:  # padded to a multiple of 64
        save_as(tmp_path / "model", model, structure=structure)
        assert load_model(tmp_path / "model").model.vocab_size == 320
        return
    with pytest.raises(ValueError, match=f"tokenizer has 257 tokens; .* has {n_tokens}"):
        save_as(tmp_path / "model", model, structure=structure)
    source = {**STRUCTURES["seq2seq"], "source_vocab_size": n_tokens}
    with pytest.raises(ValueError, match=f"source vocabulary has {n_tokens}"):
        save_as(
            tmp_path / "model", build_model("seq2seq", source), kind="seq2seq", structure=source
        )


def test_loading_refuses_a_tokenizer_of_another_vocabulary(tmp_path):
    save(tmp_path / "model")
    (tmp_path / "model" / "SHA256SUMS").unlink()  # put together by hand
    ByteTokenizer(["[MASK]"]).save(tmp_path / "model" / "tokenizer.json")
    with pytest.raises(ValueError, match=r"tokenizer\.json: tokenizer has 258 tokens"):
        load_model(tmp_path / "model")


def test_a_weight_too_large_for_the_file_is_refused(tmp_path):
    model = build("gpt")
    with torch.no_grad():
        model.embedding.weight[3, 2] = 70_000.0
    with pytest.raises(ValueError, match=r"embedding\.weight has inf or nan as torch\.float16"):
        save_as(tmp_path / "model", model, dtype=torch.float16)
    save_as(tmp_path / "model", model)
