"""What stands in for libraries on a bare machine, against those libraries."""

import importlib
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import regex
import safetensors.numpy
import safetensors.torch
import torch

from course_pkg.models.recurrent import RecurrentLM
from course_pkg.text.tokenizers.byte_pair import GPT2_PATTERN

STAND_INS = Path(__file__).parents[2] / "benchmarks" / "stand_ins"
TENSORS = {
    "b": torch.arange(3, dtype=torch.int64),
    "a": torch.randn(2, 3),
    "half": torch.randn(5).bfloat16(),
    "flag": torch.tensor([True, False, True]),
    "one": torch.tensor(2.5),
    "none": torch.empty(0, 4),
}


@pytest.fixture
def instead(monkeypatch):
    """Import a module of a stand-in, and leave the library itself in place."""

    def load(name):
        top = name.partition(".")[0]
        monkeypatch.syspath_prepend(str(STAND_INS / top))
        kept = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == top}
        for known in kept:
            del sys.modules[known]
        try:
            return importlib.import_module(name)
        finally:
            for mine in [n for n in sys.modules if n.partition(".")[0] == top]:
                del sys.modules[mine]
            sys.modules.update(kept)

    return load


def test_tensors_go_from_the_stand_in_to_the_library_and_back(instead, tmp_path):
    ours, file = instead("safetensors.torch"), tmp_path / "x"
    for save, load in (
        (ours.save_file, safetensors.torch.load_file),
        (safetensors.torch.save_file, ours.load_file),
    ):
        save(TENSORS, file)
        found = load(file)
        assert found.keys() == TENSORS.keys()
        for name, tensor in TENSORS.items():
            assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor), name


@pytest.mark.parametrize("is_tied", [True, False])
def test_models_go_from_the_stand_in_to_the_library_and_back(instead, tmp_path, is_tied):
    ours, file = instead("safetensors.torch"), str(tmp_path / "x")
    first, second = (RecurrentLM(7, 4, 4, is_tied=is_tied) for _ in range(2))
    for save, load in (
        (ours.save_model, safetensors.torch.load_model),
        (safetensors.torch.save_model, ours.load_model),
    ):
        torch.nn.init.normal_(first.embedding.weight)
        save(first, file)
        load(second, file)
        for name, tensor in first.state_dict().items():
            assert torch.equal(second.state_dict()[name], tensor), name
    other = RecurrentLM(8, 4, 4, is_tied=is_tied)
    with pytest.raises(RuntimeError, match="size mismatch"):
        ours.load_model(other, file)


def test_arrays_and_metadata_go_there_and_back(instead, tmp_path):
    arrays = {"x": np.arange(6.0).reshape(2, 3), "y": np.array([1, 2], np.int64)}
    file = tmp_path / "x"
    instead("safetensors.numpy").save_file(arrays, file, {"about": "é"})
    with safetensors.safe_open(file, framework="numpy") as opened:
        assert opened.metadata() == {"about": "é"}
        for name, array in arrays.items():
            assert np.array_equal(opened.get_tensor(name), array)


def test_damaged_file_is_no_file(instead, tmp_path):
    ours, file = instead("safetensors"), tmp_path / "x"
    safetensors.torch.save_file(TENSORS, file)
    content = file.read_bytes()
    for damaged in (b"", content[:4], content[:40], content[:-1], content + b"x", b"\xff" * 99):
        file.write_bytes(damaged)
        with pytest.raises(ours.SafetensorError, match="damaged"):
            ours.read(file)


def test_gpt2s_pattern_cuts_alike(instead):
    ours = instead("regex").compile(GPT2_PATTERN)
    theirs = regex.compile(GPT2_PATTERN)
    # Of characters that both Unicodes know: letters, numbers, spaces, signs, in all contexts.
    known = [chr(i) for i in range(0x30000) if unicodedata.category(chr(i)) not in ("Cn", "Cs")]
    text = " ".join(known) + "".join(known) + " it's 12²  \n\t we'll\x1c\x85 x"
    assert [m.group() for m in ours.finditer(text)] == [m.group() for m in theirs.finditer(text)]
