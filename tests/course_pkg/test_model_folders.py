"""A trained model in a folder: what is saved is what is loaded."""

import json

import pytest
import torch

from course_pkg.model_folders import KINDS, build_model, load_model, save_model
from course_pkg.text.tokenizers import ByteTokenizer

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
    "bert": {**TRANSFORMER, "is_pre_norm": False},
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


def test_saving_again_replaces_the_folder(tmp_path):
    save(tmp_path / "model", "gpt")
    save(tmp_path / "model", "lstm")
    assert load_model(tmp_path / "model").kind == "lstm"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_that_fails_leaves_the_earlier_folder(tmp_path):
    save(tmp_path / "model", "gpt")

    class NoTokenizer:
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
    with pytest.raises(ValueError, match="size mismatch"):
        load_model(tmp_path / "model")


def test_building_rejects_unknown_kinds_and_structures():
    with pytest.raises(ValueError, match="kind is 'rwkv'; it must be one of gpt, bert"):
        build_model("rwkv", {})
    with pytest.raises(ValueError, match="structure does not fit kind 'gpt'"):
        build_model("gpt", {"layers": 3})
