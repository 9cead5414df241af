"""Models that were trained by this package, as folders: structure, weights, tokenizer, card.

A folder holds `config.json` (which kind of model, and its structure), `model.safetensors`,
`tokenizer.json` and `card.md`: what it was trained on, for how long, on what machine, under which
licence, and what it cannot do. `SHA256SUMS` tells whether the first three are as they were written.
Nothing in it can execute code.
Chapters: GPT, BERT.
"""

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn

from course_pkg.common.checks import is_model
from course_pkg.common.devices import usable_device
from course_pkg.common.files import (
    CHECKSUMS_FILE,
    check_checksums,
    path_of,
    reason_of,
    write_checksums,
)
from course_pkg.layers.attention import ScaledDotScore
from course_pkg.models.adaptation import LoRALinear
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.models.inference import without_weights
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import EncoderDecoder
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.tokenizers import load_tokenizer
from course_pkg.text.tokenizers.vocabulary import Tokenizer

_TRANSFORMERS: dict[str, type[nn.Module]] = {"gpt": GPT, "bert": BERT, "t5": EncoderDecoder}
_CLASSES = {**_TRANSFORMERS, "lstm": RecurrentLM, "seq2seq": Seq2Seq}
KINDS = tuple(_CLASSES)
"""Kinds of model that can be built from a structure alone."""

CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE, CARD_FILE = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "card.md",
)
HISTORY_FILE = "history.json"
"""Beside a model that comes with the course: how its training went."""
_OURS = {CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE, CARD_FILE, CHECKSUMS_FILE, HISTORY_FILE}

_CHECKED = (CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE)  # a card is text, for people to edit

MOST_PADDING = 128
"""So many ids at most may a model have beyond its tokenizer's: vocabularies are padded to multiples
of 64 or 128, which GPUs multiply faster."""


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
    if not isinstance(structure, Mapping):
        raise ValueError(
            f"structure is {type(structure).__name__}; it must map names to values, as "
            "dataclasses.asdict makes of a config"
        )
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
        tokenizer: as the course's are: with `vocab_size` and `save`.
        kind: one of `KINDS`.
        structure: what `build_model` makes this model of.
        dtype: of the weights in the file; float16 halves it. Loaded, they are float32 again.
            Default: as the model has them.

    Raises:
        FileExistsError: if the folder holds anything else than an earlier model; names it.
        ValueError: if kind and structure do not make this model, the tokenizer is another's, the
            card is no text, or a weight is not finite (float16 ends at 65504); or if the folder is
            the working folder, or above it.
    """
    is_model(model)
    _check_kind(kind, model)
    if not isinstance(card, str):
        raise ValueError(f"card is {type(card).__name__}; it must be text, in Markdown")
    if not (hasattr(tokenizer, "vocab_size") and hasattr(tokenizer, "save")):
        found = type(tokenizer).__name__
        raise ValueError(f"tokenizer is {found}; it must have vocab_size and save, as ours do")
    _check_vocabulary(model, tokenizer.vocab_size)
    _check_structure(kind, structure, model)
    folder = path_of(folder).resolve()
    claim_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        config = {"kind": kind, "structure": dict(structure)}
        (unfinished / CONFIG_FILE).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        (unfinished / CARD_FILE).write_text(card, encoding="utf-8")
        tokenizer.save(unfinished / TOKENIZER_FILE)
        written = model if dtype is None else copy.deepcopy(model).to(dtype)
        _check_finite(written)
        safetensors.torch.save_model(written, str(unfinished / WEIGHTS_FILE))
        write_checksums(unfinished, _CHECKED)
        unfinished.chmod(0o755)
        _put_in_place(unfinished, folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what a process left beside a model's folder that was killed while it saved there.

    Call it only where no other process can be saving, as in the folder of a run.
    """
    for leftover in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)


def claim_folder(folder: Path) -> None:
    """See to it that `save_model` would replace nothing but an earlier model in this folder.

    Raises:
        FileExistsError: if the folder holds anything else; names it.
        ValueError: if the folder is the working folder, or above it.
    """
    folder = folder.resolve()
    if Path.cwd().is_relative_to(folder):
        raise ValueError(f"folder is {folder}, in which you work; name one in it, as model")
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if not names:
        return
    others = [name for name in names if name not in _OURS]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        found = ", ".join(others[:3]) + more
        raise FileExistsError(f"{folder} holds {found}, which no model has; name a new folder")
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        config = None
    if not _is_ours(config):
        raise FileExistsError(f"{folder} holds no model of this package; name a new folder")


def _is_ours(config: Any) -> bool:
    """Say whether `save_model` wrote a config; other packages give theirs the same name."""
    return isinstance(config, dict) and {"kind", "structure"} <= set(config)


def _put_in_place(unfinished: Path, folder: Path) -> None:
    """Give a whole folder its name. The earlier one is deleted last, so one of them is there."""
    if not folder.exists():
        os.rename(unfinished, folder)
        return
    former = unfinished.with_name(f"{unfinished.name}.former")
    os.rename(folder, former)
    try:
        os.rename(unfinished, folder)
    except OSError:
        os.rename(former, folder)
        raise
    shutil.rmtree(former)


def load_model(folder: str | Path, *, device: torch.device | str = "cpu") -> TrainedModel:
    """Load a model that `save_model` wrote.

    Raises:
        ValueError: if a file is missing, damaged, or of another model; the message names it. If
            torch cannot compute on the device here.
    """
    folder, reading, device = path_of(folder), CONFIG_FILE, usable_device(device)
    if not (folder / CONFIG_FILE).is_file():
        raise ValueError(f"{folder} does not hold a trained model: {_instead_of_model(folder)}")
    try:
        check_checksums(folder, _CHECKED)
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder} does not hold a trained model: {error}") from error
    try:
        config = json.loads((folder / reading).read_text(encoding="utf-8"))
        if not _is_ours(config):
            raise ValueError(
                "it is of another package; of transformers' models, load_gpt2 and load_bert read "
                "the weights"
            )
        model = build_model(config["kind"], _as_written_now(config["structure"]))
        reading = WEIGHTS_FILE
        safetensors.torch.load_model(model, str(folder / reading), device=str(device))
        reading = TOKENIZER_FILE
        tokenizer = load_tokenizer(folder / reading)
        _check_vocabulary(model, tokenizer.vocab_size)
        reading = CARD_FILE
        card = (folder / reading).read_text(encoding="utf-8")
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{folder} does not hold a trained model: {reading}: {reason_of(error)}"
        ) from error
    return TrainedModel(config["kind"], model.to(device).eval(), tokenizer, card)


_WIRINGS = dict(
    zip("ABCD", ("pre_norm", "single_residual", "parallel", "parallel_two_norms"), strict=True)
)


def _as_written_now(structure: dict[str, Any]) -> dict[str, Any]:
    """Return a structure with `block`, for which versions up to 0.7 wrote two fields."""
    if not {"is_pre_norm", "wiring"} <= set(structure):
        return structure
    now = {key: value for key, value in structure.items() if key not in ("is_pre_norm", "wiring")}
    block = _WIRINGS[structure["wiring"]] if structure["is_pre_norm"] else "post_norm"
    return now | {"block": block}


def _instead_of_model(folder: Path) -> str:
    """Say what a folder without the file of a model's structure may be, and what to do with it."""
    if not folder.exists():
        return "it does not exist; the course's own models are loaded by name, by load_pretrained"
    if (folder / "model" / CONFIG_FILE).is_file():
        return f"its model is in {folder / 'model'}"
    if (folder / "state.json").is_file():
        return "it is a checkpoint: a run goes on from it, and load_checkpoint reads it"
    return f"it has no {CONFIG_FILE}"


def _check_kind(kind: str, model: nn.Module) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    if hasattr(model, "_orig_mod"):
        raise ValueError("model is compiled; save what it was made of, model._orig_mod")
    if any(isinstance(module, LoRALinear) for module in model.modules()):
        raise ValueError("model has LoRA layers, which no structure has; call merge_lora first")
    if not isinstance(model, _CLASSES[kind]):
        needed, found = _CLASSES[kind].__name__, type(model).__name__
        raise ValueError(f"kind is {kind!r}; the model must be {needed}, and is {found}")


def _check_vocabulary(model: Any, n_tokens: int) -> None:
    """Refuse a tokenizer whose ids the model does not have, or that lacks many of the model's."""
    sizes = {"vocabulary": model.vocab_size}
    if isinstance(model, Seq2Seq):
        sizes["source vocabulary"] = model.encoder.embedding.num_embeddings
    for name, size in sizes.items():
        if not n_tokens <= size <= n_tokens + MOST_PADDING:
            raise ValueError(
                f"tokenizer has {n_tokens:,} tokens; the model's {name} has {size:,}, and must "
                f"have as many, or up to {MOST_PADDING} more as padding"
            )


def _check_structure(kind: str, structure: Mapping[str, Any], model: nn.Module) -> None:
    """Refuse a model that could not be loaded again, or only as another one."""
    with without_weights():  # names and shapes, no numbers
        expected = build_model(kind, structure)
    wanted, there = (_shapes(m) for m in (expected, model))
    for name in [*there, *wanted]:
        if wanted.get(name) != there.get(name):
            raise ValueError(
                f"structure makes {name} {wanted.get(name, 'missing')}; the model's is "
                f"{there.get(name, 'missing')}"
            )
    wanted, there = (_settings(m) for m in (expected, model))
    for name, value in there.items():
        if wanted[name] != value:
            raise ValueError(f"structure makes {name} {wanted[name]!r}; the model's is {value!r}")


def _settings(model: Any) -> dict[str, Any]:
    """Return what a model computes with that its weights' names and shapes do not show."""
    if isinstance(model, Seq2Seq):
        return {"eos_id": model.eos_id, "score": type(model.score).__name__}
    if isinstance(model, RecurrentLM):
        return {}
    return asdict(model.config)


def _check_finite(model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            raise ValueError(f"{name} has inf or nan as {parameter.dtype}; it must be finite")


def _shapes(model: nn.Module) -> dict[str, str]:
    """Describe each tensor: its shape, and by which name it came first, if it has several."""
    first: dict[int, str] = {}
    shapes = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        other = first.setdefault(id(tensor), name)
        shapes[name] = f"{tuple(tensor.shape)}" + (
            "" if other == name else f", the same as {other}"
        )
    return shapes
