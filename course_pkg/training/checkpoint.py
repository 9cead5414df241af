"""Checkpoints that are whole or absent, and that cannot execute code.

A checkpoint is a folder: tensors as safetensors, everything else as JSON. It is written under
another name, flushed to the disk, and renamed at the end. A rename happens or does not, so a
process killed at any byte leaves the previous checkpoint as it was and nothing under the new name.
Chapter: training transformers.
"""

import json
import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from course_pkg.common.files import (
    NOT_FINITE,
    as_json,
    check_checksums,
    path_of,
    reason_of,
    refuse_file,
    write_checksums,
)

WEIGHTS_FILE, STATE_TENSORS_FILE, STATE_FILE = (
    "model.safetensors",
    "state.safetensors",
    "state.json",
)
_FILES = (WEIGHTS_FILE, STATE_TENSORS_FILE, STATE_FILE)
_NAME = re.compile(r"step-(\d{9})")
_UNFINISHED = ".unfinished-"
ABANDONED = "abandoned-"
"""Begins the names of checkpoints that a run went back behind: nobody resumes from them."""


class CheckpointError(Exception):
    """A checkpoint that is missing, damaged, or of another model."""


@dataclass(frozen=True)
class Checkpoint:
    """What was saved after `step` updates.

    Attributes:
        weights: the model's `state_dict`, tied entries included.
        state: the tree that was passed to `save_checkpoint`.
    """

    step: int
    weights: dict[str, Tensor]
    state: dict[str, Any]


def save_checkpoint(
    folder: str | Path,
    step: int,
    model: nn.Module | Mapping[str, Tensor],
    state: Mapping[str, Any],
    *,
    keep: int = 2,
) -> Path:
    """Write `folder/step-<step>`, then delete all but the newest `keep` checkpoints.

    Args:
        model: or its `state_dict`.
        state: dicts, lists, tuples, tensors, numbers, strings, None; tuples come back as lists, and
            NumPy's numbers as Python's.

    Raises:
        ValueError: if keep is below 1.
        FileExistsError: if this step has a checkpoint already; to replace one is never atomic.
        OSError: if the disk is full or forbidden; nothing is left behind, older ones stay.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}; it must be at least 1")
    folder = refuse_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / _name_of(step)
    if final.exists():
        raise FileExistsError(f"{final} exists already; resume from it or use another folder")
    unfinished = folder / f"{_UNFINISHED}{final.name}-{os.getpid()}"
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir()
        weights, tied = _untie(model.state_dict() if isinstance(model, nn.Module) else model)
        safetensors.torch.save_file(weights, unfinished / WEIGHTS_FILE)
        tensors: dict[str, Tensor] = {}
        packed = _pack(dict(state), tensors)
        safetensors.torch.save_file(tensors, unfinished / STATE_TENSORS_FILE)
        description = {"step": step, "tied": tied, "state": packed}
        (unfinished / STATE_FILE).write_text(as_json(description), encoding="utf-8")
        write_checksums(unfinished, _FILES)
        for file in unfinished.iterdir():
            _flush(file)
        unfinished.rename(final)
        _flush(folder)
    except (OSError, SafetensorError) as error:  # which of them depends on who was writing
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OSError(
            f"{final} could not be written: {error}; earlier checkpoints are as they were"
        ) from error
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    for old in list_checkpoints(folder)[:-keep]:
        # Renamed first: a process killed while it deletes must not leave half a checkpoint either.
        shutil.rmtree(old.rename(folder / f"{_UNFINISHED}{old.name}"))
    for leftover in folder.glob(f"{_UNFINISHED}*"):  # of a process that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    return final


def _name_of(step: int) -> str:
    return f"step-{step:09d}"


def list_checkpoints(folder: str | Path) -> list[Path]:
    """Return the whole checkpoints in a folder, oldest first; none if it does not exist."""
    folder = path_of(folder)
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.is_dir() and _NAME.fullmatch(p.name))


def set_aside(path: Path) -> Path:
    """Rename a checkpoint so that it is not resumed from; what had that name is replaced."""
    aside = path.with_name(f"{ABANDONED}{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    return path.rename(aside)


def load_checkpoint(path: str | Path, device: torch.device | str = "cpu") -> Checkpoint:
    """Read one checkpoint folder.

    Raises:
        CheckpointError: if a file is missing or damaged; the message names it.
    """
    path = path_of(path)
    try:
        check_checksums(path, _FILES)
        description = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        name = _name_of(description["step"])
        if _NAME.fullmatch(path.name) and path.name != name:
            raise ValueError(f"it is {name} by what is in it; give it that name again")
        weights = safetensors.torch.load_file(path / WEIGHTS_FILE, device=str(device))
        # State tensors stay on the CPU: random generators must, and optimizers move theirs.
        tensors = safetensors.torch.load_file(path / STATE_TENSORS_FILE)
        weights |= {alias: weights[name] for alias, name in description["tied"].items()}
        return Checkpoint(description["step"], weights, _unpack(description["state"], tensors))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} cannot be read as a checkpoint: {reason_of(error)}"
        ) from error


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    """Copy weights into a model whose names and shapes must agree with them.

    Raises:
        CheckpointError: listing what is missing, what is left over, and which shapes differ.
    """
    own = model.state_dict()
    problems = [f"{name} is missing" for name in own.keys() - weights.keys()]
    problems += [f"{name} is not in the model" for name in weights.keys() - own.keys()]
    problems += [
        f"{name} has shape {tuple(weights[name].shape)}, the model's is {tuple(own[name].shape)}"
        for name in own.keys() & weights.keys()
        if weights[name].shape != own[name].shape
    ]
    if problems:
        raise CheckpointError(f"{source} is of another model: " + "; ".join(sorted(problems)))
    model.load_state_dict(dict(weights))


def _untie(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Keep one name for each tensor; map the other names of tied tensors to it."""
    first_name: dict[tuple[int, torch.Size, tuple[int, ...]], str] = {}
    kept, tied = {}, {}
    for name, tensor in weights.items():
        identity = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() > 0 and identity in first_name:
            tied[name] = first_name[identity]
        else:
            first_name[identity] = name
            kept[name] = tensor.detach().contiguous().cpu()
    return kept, tied


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Turn a tree into JSON, moving its tensors into `tensors`."""
    match value:
        case float() if not math.isfinite(value):
            return {"number": as_json(value).strip('"')}
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return _pack(value.item(), tensors)
        case Tensor():
            key = str(len(tensors))
            # A copy of its own: safetensors refuses views.
            tensors[key] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
            return {"tensor": key}
        case list() | tuple():
            return [_pack(item, tensors) for item in value]
        case Mapping():  # as pairs, since JSON would turn an optimizer's integer keys into text
            return {"pairs": [[key, _pack(item, tensors)] for key, item in value.items()]}
    raise TypeError(f"state holds a {type(value).__name__}; a checkpoint keeps tensors and JSON")


def _unpack(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    match value:
        case {"tensor": key}:
            return tensors[key]
        case {"number": text}:
            return NOT_FINITE[text]
        case {"pairs": pairs}:
            return {key: _unpack(item, tensors) for key, item in pairs}
        case list():
            return [_unpack(item, tensors) for item in value]
    return value


def _flush(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk."""
    is_folder = path.is_dir()
    try:
        # Windows writes out only what may be written to, and opens no folder at all.
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    except PermissionError:
        if is_folder:
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
