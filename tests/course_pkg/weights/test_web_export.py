"""A model as a script for a page: what was written is what a page will read."""

import json
import re
import sys

import pytest
import torch

from course_pkg import __main__ as commands
from course_pkg import load_pretrained
from course_pkg.models.transformer_config import ATTENTION_POSITIONS, EMBEDDING_POSITIONS
from course_pkg.text.tokenizers import BytePairTokenizer, ByteTokenizer
from course_pkg.weights import web_export
from course_pkg.weights.model_folders import build_model, save_model
from course_pkg.weights.pretrained import SHIPPED
from course_pkg.weights.web_export import READABLE, export_web

TOKENIZER = BytePairTokenizer.train(["slow lower lowest"], vocab_size=262)
STRUCTURE = {
    "vocab_size": TOKENIZER.vocab_size,
    "context_length": 9,
    "d_model": 12,
    "n_heads": 2,
    "n_layers": 1,
    "d_ff": 20,
}


def save(folder, *, kind="gpt", tokenizer=TOKENIZER, weight=None, **changes):
    structure = STRUCTURE | changes
    model = build_model(kind, structure, generator=torch.Generator().manual_seed(5))
    if weight is not None:
        with torch.no_grad():
            model.embedding.weight[0, : len(weight)] = weight
    save_model(folder, model, tokenizer, kind=kind, structure=structure, card="# A card\n")
    return model


def read(script) -> tuple[dict, torch.Tensor]:
    """Read a script as JavaScript would: decode, take header and string, undo the escapes."""
    text = script.read_bytes().decode("utf-16")  # obeys the byte order mark and drops it
    header, string = re.fullmatch(r'lm\.weights\((\{.*\}),\n"(.*)"\);\n', text, re.DOTALL).groups()
    units = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), string)
    bits = units.encode("utf-16-le", "surrogatepass")
    return json.loads(header), torch.frombuffer(bytearray(bits), dtype=torch.float16)


def test_shipped_models_round_trip_within_twelve_megabytes(tmp_path):
    for name in ("gpt-small", "bert-small"):
        script = export_web(SHIPPED / name, tmp_path)
        assert script.stat().st_size <= 12e6
        header, numbers = read(script)
        state = load_pretrained(name).model.state_dict()
        assert [key for key, _ in header["tensors"]] == list(state)
        parts = numbers.split([tensor.numel() for tensor in state.values()])
        for part, tensor in zip(parts, state.values(), strict=True):
            assert torch.equal(part.float(), tensor.flatten()), "the shipped weights are float16"


def test_weights_that_would_break_the_string_are_escaped(tmp_path):
    # As bits: a quote, a backslash, both line ends, two separators, and halves of surrogate pairs,
    # the second half first: in order they would be one character, which needs no escape.
    bits = [0x22, 0x5C, 0x0A, 0x0D, 0x2028, 0x2029, 0xDFFF, 0xD800]
    weight = torch.tensor(bits, dtype=torch.uint16).view(torch.float16).float()
    save(tmp_path / "odd", weight=weight)
    _, numbers = read(export_web(tmp_path / "odd", tmp_path))
    assert torch.equal(numbers[: len(bits)].float(), weight)


def test_header_gives_structure_and_tokenizer(tmp_path):
    save(tmp_path / "small", positions="rotary")
    header, _ = read(export_web(tmp_path / "small", tmp_path))
    assert (header["name"], header["kind"], header["card"]) == ("small", "gpt", "# A card\n")
    assert (header["config"]["positions"], header["norm_eps"]) == ("rotary", 1e-5)
    tokenizer = header["tokenizer"]
    made = [tokenizer["vocabulary"][a] + tokenizer["vocabulary"][b] for a, b in tokenizer["merges"]]
    assert made == [(a + b).decode() for a, b in TOKENIZER.merges]
    assert tokenizer["special"] == {"<eos>": TOKENIZER.eos_id}
    assert r"\s" not in tokenizer["pattern"]


@pytest.mark.parametrize("positions", ["none", *EMBEDDING_POSITIONS, *ATTENTION_POSITIONS])
def test_every_position_scheme_is_exported_or_refused_by_name(tmp_path, positions):
    save(tmp_path / "small", positions=positions)
    if positions in READABLE["positions"]:
        header, _ = read(export_web(tmp_path / "small", tmp_path))
        assert header["config"]["positions"] == positions
    else:
        with pytest.raises(ValueError, match=f"positions is '{positions}'; a page can read 'lear"):
            export_web(tmp_path / "small", tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": "rotary", "rotary_base": 5e4}, "rotary_base is 50000.0; a page can read 10"),
        ({"block": "post_norm"}, "block is 'post_norm'"),
        ({"tokenizer": ByteTokenizer()}, "tokenizer is a ByteTokenizer"),
        ({"kind": "t5", "positions": "sinusoidal"}, "kind is 't5'; a page can read gpt and bert"),
        ({"weight": torch.tensor([-70000.0])}, "embedding.weight has the weight 70000.0"),
    ],
)
def test_export_rejects_what_the_engine_cannot_read(tmp_path, changes, message):
    save(tmp_path / "model", **changes)
    with pytest.raises(ValueError, match=message):
        export_web(tmp_path / "model", tmp_path / "out")
    assert not list(tmp_path.glob("out/*")), "nothing half-written is left"


def test_export_replaces_an_exported_model_and_nothing_else(tmp_path):
    save(tmp_path / "model")
    export_web(tmp_path / "model", tmp_path)
    script = export_web(tmp_path / "model", tmp_path)
    script.write_text("// mine")
    with pytest.raises(FileExistsError, match=r"model\.js is no exported model"):
        export_web(tmp_path / "model", tmp_path)
    assert script.read_text() == "// mine"


def test_command_writes_the_script_or_says_why_not(tmp_path, monkeypatch, capsys):
    save(tmp_path / "small")
    argv = ["course_pkg", "export-web", str(tmp_path / "small"), "--out", str(tmp_path / "site")]
    monkeypatch.setattr(sys, "argv", argv)
    assert commands.main() == 0
    assert (tmp_path / "site" / "small.js").is_file()
    assert "small.js: 0.0 MB" in capsys.readouterr().out
    argv[2] = str(tmp_path)
    assert commands.main() == 1
    assert "does not hold a trained model: it has no config.json" in capsys.readouterr().err


def test_command_puts_the_file_of_a_published_model_into_a_folder(tmp_path, monkeypatch, capsys):
    def absent(name):
        raise ModuleNotFoundError(f"{name} is not installed (make published)")

    (tmp_path / "m.gguf").write_bytes(b"GGUF of a model")
    out = tmp_path / "site" / "models"
    monkeypatch.setattr(
        sys, "argv", ["course_pkg", "export-web", "smollm2-135m", "--out", str(out)]
    )
    monkeypatch.setattr(web_export, "published_path", absent)
    assert commands.main() == 1
    assert "smollm2-135m is not installed (make published)" in capsys.readouterr().err
    monkeypatch.setattr(web_export, "published_path", lambda name: tmp_path / "m.gguf")
    for _ in range(2):
        assert commands.main() == 0
        assert (out / "m.gguf").read_bytes() == b"GGUF of a model"
    (out / "m.gguf").write_bytes(b"half")
    assert commands.main() == 0
    assert (out / "m.gguf").read_bytes() == b"GGUF of a model"
