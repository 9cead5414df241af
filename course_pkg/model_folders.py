"""Models that were trained by this package, as folders: structure, weights, tokenizer, card.

A folder holds `config.json` (which kind of model, and its structure), `model.safetensors`,
`tokenizer.json` and `card.md`: what it was trained on, for how long, on what machine, under which
licence, and what it cannot do. Nothing in it can execute code.
Chapters: GPT, BERT.
"""

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn

from course_pkg.layers.attention import ScaledDotScore
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import EncoderDecoder
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.tokenizers import load_tokenizer
from course_pkg.text.tokenizers.vocabulary import Tokenizer

_TRANSFORMERS: dict[str, type[nn.Module]] = {"gpt": GPT, "bert": BERT, "t5": EncoderDecoder}
KINDS = (*_TRANSFORMERS, "lstm", "seq2seq")
"""Kinds of model that can be built from a structure alone."""

CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE, CARD_FILE = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "card.md",
)


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with all that is needed to use it, in evaluation mode."""

    kind: str
    model: nn.Module
    tokenizer: Tokenizer
    card: str


def build_model(
    kind: str,
    structure: Mapping[str, Any],
    *,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> nn.Module:
    """Build a model of one of `KINDS` with fresh weights.

    Args:
        structure: a transformer's `TransformerConfig`, field by field; of the recurrent kinds, the
            sizes that their constructors take.

    Raises:
        ValueError: an unknown kind, or a structure that this kind does not have.
    """
    try:
        if kind in _TRANSFORMERS:
            config = TransformerConfig(**structure)
            return _TRANSFORMERS[kind](config, dropout=dropout, generator=generator)
        if kind == "lstm":
            return RecurrentLM(**structure, dropout=dropout, generator=generator)
        if kind == "seq2seq":
            score = ScaledDotScore()
            return Seq2Seq(**structure, score=score, dropout=dropout, generator=generator)
    except TypeError as error:
        raise ValueError(f"structure does not fit kind {kind!r}: {error}") from error
    raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")


def save_model(
    folder: str | Path,
    model: nn.Module,
    tokenizer: Any,
    *,
    kind: str,
    structure: Mapping[str, Any],
    card: str,
    dtype: torch.dtype | None = None,
) -> None:
    """Write a model's folder, whole or not at all; an earlier one of that name is replaced.

    Args:
        dtype: of the weights in the file; float16 halves it. Loaded, they are float32 again.
            Default: as the model has them.
    """
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        config = {"kind": kind, "structure": dict(structure)}
        (unfinished / CONFIG_FILE).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        (unfinished / CARD_FILE).write_text(card, encoding="utf-8")
        tokenizer.save(unfinished / TOKENIZER_FILE)
        written = model if dtype is None else copy.deepcopy(model).to(dtype)
        safetensors.torch.save_model(written, str(unfinished / WEIGHTS_FILE))
        unfinished.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        os.rename(unfinished, folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def load_model(folder: str | Path, *, device: torch.device | str = "cpu") -> TrainedModel:
    """Load a model that `save_model` wrote.

    Raises:
        ValueError: if a file is missing, damaged, or of another model; the message names it.
    """
    folder, reading = Path(folder), CONFIG_FILE
    try:
        config = json.loads((folder / reading).read_text(encoding="utf-8"))
        model = build_model(config["kind"], config["structure"])
        reading = WEIGHTS_FILE
        safetensors.torch.load_model(model, str(folder / reading), device=str(device))
        reading = TOKENIZER_FILE
        tokenizer = load_tokenizer(folder / reading)
        reading = CARD_FILE
        card = (folder / reading).read_text(encoding="utf-8")
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder} does not hold a trained model: {reading}: {error}") from error
    return TrainedModel(config["kind"], model.to(device).eval(), tokenizer, card)
