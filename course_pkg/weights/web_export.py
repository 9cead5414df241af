"""A trained GPT or BERT as one script that a page can load, from a server or from the file system.

A page opened from the file system may load scripts and nothing else, so the weights travel in one.
The file is UTF-16, and each character of its one long string is a weight: the sixteen bits of a
float16, just as they are in memory. So it is as small as the weights, and nothing is lost that the
shipped folders have. The engine that reads it is book/_assets/lm-engine.js. The file of a published
model stays as it is, and is only put where a page of the same site may fetch it.

Chapters: self-attention, models that come with the course.
"""

import codecs
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_pkg.common.files import path_of, replacing
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.text.tokenizers import BytePairTokenizer
from course_pkg.weights.model_folders import TrainedModel, load_model
from course_pkg.weights.published import published_path

READABLE = {
    "positions": ("learned", "rotary", "none"),
    "rotary_base": (10_000.0,),
    "block": ("pre_norm",),
    "has_qk_norm": (False,),
    "shares_layers": (False,),
}
"""What the engine in the page can read, where the config offers more."""

# The mark of the encoding is read before any label that a server gives the file.
_OPENING = codecs.BOM_UTF16_LE + "lm.weights(".encode("utf-16-le")
# In a JavaScript string these end the line or the string, begin an escape, or are half a character.
_LINE_ENDS_AND_QUOTES = (0x0A, 0x0D, 0x22, 0x5C, 0x2028, 0x2029)
_SURROGATES = (0xD800, 0xDFFF)


def export_web(folder: Path, out: Path) -> Path:
    """Write a model's folder as the script `<name of the folder>.js` and return its path.

    Args:
        folder: what `save_model` wrote; weights of more precision are rounded to float16.
        out: folder of the script, made if need be.

    Raises:
        FileExistsError: a script of that name is there, and this has not written it.
        ValueError: the folder holds no trained model, or one that the engine cannot read.
    """
    trained = load_model(folder)
    name = folder.resolve().name
    weights = {key: _half(key, tensor) for key, tensor in trained.model.state_dict().items()}
    header = web_header(name, trained)
    header["tensors"] = [[key, list(array.shape)] for key, array in weights.items()]
    bits = np.concatenate([array.ravel() for array in weights.values()])
    out = path_of(out)
    out.mkdir(parents=True, exist_ok=True)
    _claim(out / f"{name}.js")
    with replacing(out / f"{name}.js") as scratch, scratch.open("wb") as file:
        file.write(_OPENING)
        file.write(f"{json.dumps(header)},\n".encode("utf-16-le"))
        file.write(_string_literal(bits))
        file.write(");\n".encode("utf-16-le"))
    return out / f"{name}.js"


def place_published(name: Path | str, out: Path) -> Path:
    """Copy the file of an installed published model into a folder and return its path there.

    Raises:
        ModuleNotFoundError: if it is not installed, with what installs it.
    """
    source = published_path(str(name))
    target = out / source.name
    out.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.stat().st_size != source.stat().st_size:
        with replacing(target) as scratch:
            shutil.copyfile(source, scratch)
    return target


def _claim(script: Path) -> None:
    """See to it that no other script is replaced."""
    if script.exists():
        with script.open("rb") as file:
            if file.read(len(_OPENING)) != _OPENING:
                raise FileExistsError(f"{script} is no exported model; name another folder")


def web_header(name: str, trained: TrainedModel) -> dict[str, Any]:
    """Return what goes with the weights: structure, tokenizer, card.

    Raises:
        ValueError: for a kind, a structure or a tokenizer that the engine cannot read.
    """
    model, tokenizer = trained.model, trained.tokenizer
    if not isinstance(model, GPT | BERT):
        raise ValueError(f"kind is {trained.kind!r}; a page can read gpt and bert")
    if isinstance(model, BERT) and model.token_head is None:
        raise ValueError("has_heads is False; without heads a BERT fills no gaps")
    for field, readable in READABLE.items():
        value = getattr(model.config, field)
        if value not in readable:
            raise ValueError(
                f"{field} is {value!r}; a page can read {', '.join(map(repr, readable))}"
            )
    if not isinstance(tokenizer, BytePairTokenizer):
        raise ValueError(f"tokenizer is a {type(tokenizer).__name__}; a page reads byte pairs")
    return {
        "name": name,
        "kind": trained.kind,
        "config": vars(model.config),
        "card": trained.card,  # data, limits and licence travel with the weights
        "norm_eps": model.stack.final_norm.eps,  # type: ignore[union-attr]
        "tokenizer": _tokenizer(tokenizer),
    }


def _tokenizer(tokenizer: BytePairTokenizer) -> Mapping[str, Any]:
    """Return vocabulary and merges; a token is a string with one character for each byte."""
    ids = {token: i for i, token in enumerate(tokenizer.vocabulary)}
    return {
        "vocabulary": [
            token if isinstance(token, str) else token.decode("latin-1")
            for token in tokenizer.vocabulary
        ],
        "special": tokenizer.special_ids,
        "merges": [[ids[a], ids[b]] for a, b in tokenizer.merges],
        # JavaScript's own \s knows other spaces than Unicode and Python do.
        "pattern": tokenizer.pattern.replace(r"\s", r"\p{White_Space}").replace(
            r"\S", r"\P{White_Space}"
        ),
    }


def _half(name: str, tensor: Tensor) -> np.ndarray:
    """Return the bits of a tensor's float16.

    Raises:
        ValueError: if a weight is too large for it, or no number.
    """
    half = tensor.to(torch.float16)
    if not bool(half.isfinite().all()):
        raise ValueError(
            f"{name} has the weight {tensor.abs().max().item()}; float16 ends at 65504"
        )
    return half.numpy().view("<u2")


def _string_literal(bits: np.ndarray) -> bytes:
    """Return 16-bit numbers as a JavaScript string in UTF-16, each a character or its escape."""
    low, high = _SURROGATES
    is_special = np.isin(bits, _LINE_ENDS_AND_QUOTES) | ((bits >= low) & (bits <= high))
    parts, start = [], 0
    for place in np.flatnonzero(is_special).tolist():
        parts += [bits[start:place].tobytes(), f"\\u{bits[place]:04x}".encode("utf-16-le")]
        start = place + 1
    quote = '"'.encode("utf-16-le")
    return b"".join([quote, *parts, bits[start:].tobytes(), quote])
