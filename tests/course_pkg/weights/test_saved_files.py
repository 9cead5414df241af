"""Whatever the package saves: damaged, cut off, empty or of another kind, it is refused by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from course_pkg.common.files import CHECKSUMS_FILE
from course_pkg.models.ngram import NGram
from course_pkg.text.batches.token_files import TokenFile, write_token_file
from course_pkg.text.tokenizers import (
    BytePairTokenizer,
    ByteTokenizer,
    CharTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
    load_tokenizer,
)
from course_pkg.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from course_pkg.weights.model_folders import build_model, load_model, save_model

TEXT = ["the cat sat on the mat", "the dog sat on the cat"]
STRUCTURE = {"vocab_size": 257, "d_embedding": 2, "d_hidden": 2}
N_FLIPS = 24
"""Flipped bits of each file, spread over it."""


@dataclass
class Saved:
    """A file that was saved, and how to read it: `read(path)` gives what can be compared."""

    save: Any
    read: Any


def save_lstm(path: Path) -> None:
    model = build_model("lstm", STRUCTURE, generator=torch.Generator().manual_seed(0))
    save_model(path, model, ByteTokenizer(), kind="lstm", structure=STRUCTURE, card="# A card\n")


def read_lstm(path: Path) -> Any:
    found = load_model(path)
    weights = {name: tensor.tolist() for name, tensor in found.model.state_dict().items()}
    return found.kind, weights, found.tokenizer.tokens, found.card


def save_step(path: Path) -> None:
    save_checkpoint(path.parent, 1, torch.nn.Linear(2, 3), {"moments": torch.arange(3.0), "n": 4})


def read_step(path: Path) -> Any:
    found = load_checkpoint(path)
    return found.step, {k: v.tolist() for k, v in found.weights.items()}, str(found.state)


def read_tokens(path: Path) -> Any:
    file = TokenFile(path)
    return file.vocab_size, file[:].tolist()


def read_ngram(path: Path) -> Any:
    model = NGram.load(path)
    every = torch.arange(model.vocab_size).repeat(model.vocab_size, 1)
    return model.target_log_probs(every, every.T.contiguous()).tolist()


def tokenizer(make: Any) -> Saved:
    def read(path: Path) -> Any:
        found = load_tokenizer(path)
        return type(found), found.tokens, found.encode(TEXT[0])

    return Saved(lambda path: make().save(path), read)


FILES = {
    "word": tokenizer(lambda: WordTokenizer.train(TEXT)),
    "char": tokenizer(lambda: CharTokenizer.train(TEXT, unk="<unk>")),
    "byte": tokenizer(lambda: ByteTokenizer(["[MASK]"])),
    "byte pair": tokenizer(lambda: BytePairTokenizer.train(TEXT, vocab_size=270)),
    "word piece": tokenizer(
        lambda: WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"thecas"])
    ),
    "tokens": Saved(lambda path: write_token_file(path, [[5, 3, 8, 1]], 9), read_tokens),
    "n-gram": Saved(lambda path: NGram.fit([[1, 2], [2]], 2, 3, 0).save(path), read_ngram),
}
FOLDERS = {
    "model": Saved(save_lstm, read_lstm),
    "step-000000001": Saved(save_step, read_step),
}


def places(content: bytes, exhaustive: bool) -> list[tuple[int, int]]:
    """Bytes and bits of a file to flip: all, or some in every part of it."""
    if exhaustive:
        return [(byte, bit) for byte in range(len(content)) for bit in range(8)]
    rng = np.random.default_rng(len(content))
    chosen = np.linspace(0, len(content) - 1, N_FLIPS).astype(int)
    return [(int(byte), int(rng.integers(8))) for byte in chosen]


def refuse(read: Any, path: Path, named: Path, whole: Any = None) -> None:
    """Reading must fail and name the file, or make no difference."""
    try:
        found = read(path)
    except (ValueError, CheckpointError, OSError) as error:
        assert str(named) in str(error) or named.name in str(error), error
    else:
        assert found == whole, f"{named} was read, changed as it is"


def try_all_damage(
    saved: Saved, path: Path, damaged: Path, strange: bytes, exhaustive: bool
) -> None:
    whole, content = saved.read(path), damaged.read_bytes()
    for byte, bit in places(content, exhaustive):
        changed = bytearray(content)
        changed[byte] ^= 1 << bit
        damaged.write_bytes(changed)
        refuse(saved.read, path, damaged, whole)
    for other in (content[: len(content) // 2], content[:-1], b"", strange, b"[]", b"{}", b"5"):
        damaged.write_bytes(other)
        refuse(saved.read, path, damaged, whole)
    damaged.unlink()
    if damaged.name != CHECKSUMS_FILE:  # folders of earlier versions have none
        with pytest.raises((ValueError, CheckpointError, OSError), match=damaged.name):
            saved.read(path)
    damaged.write_bytes(content)
    assert saved.read(path) == whole


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["", "all"])
def exhaustive(request):
    return request.param


@pytest.mark.parametrize("name", FILES)
def test_damaged_file_is_refused_by_name(tmp_path, name, exhaustive):
    saved, path, other = FILES[name], tmp_path / name, tmp_path / "other"
    saved.save(path)
    FILES["byte" if name == "word" else "word"].save(other)
    if name in ("tokens", "n-gram"):
        try_all_damage(saved, path, path, other.read_bytes(), exhaustive)
    else:
        content, whole = path.read_bytes(), saved.read(path)
        try_all_damage(saved, path, path, b"LMTOKENS" + content, exhaustive)
        wrong = WordTokenizer if name == "byte" else ByteTokenizer
        with pytest.raises(ValueError, match=f"holds a tokenizer of kind '{name}', not"):
            wrong.load(path)
        assert saved.read(path) == whole


@pytest.mark.parametrize("name", FOLDERS)
def test_damaged_file_of_a_folder_is_refused_by_name(tmp_path, name, exhaustive):
    saved, path = FOLDERS[name], tmp_path / name
    saved.save(path)
    for damaged in sorted(path.iterdir()):
        if damaged.name == "card.md":  # text, for people to edit
            damaged.write_text("# Edited\n")
        else:
            others = [file for file in path.iterdir() if file != damaged]
            try_all_damage(saved, path, damaged, others[0].read_bytes(), exhaustive)


@pytest.mark.parametrize("name", FOLDERS)
def test_folder_of_an_earlier_version_has_no_checksums(tmp_path, name):
    saved, path = FOLDERS[name], tmp_path / name
    saved.save(path)
    whole = saved.read(path)
    (path / CHECKSUMS_FILE).unlink()
    assert saved.read(path) == whole


def test_sha256sum_can_check_a_folder(tmp_path):
    import hashlib

    save_lstm(tmp_path / "model")
    lines = (tmp_path / "model" / CHECKSUMS_FILE).read_text().splitlines()
    assert len(lines) == 3
    for line in lines:
        digest, name = line.split("  ")
        assert digest == hashlib.sha256((tmp_path / "model" / name).read_bytes()).hexdigest()
