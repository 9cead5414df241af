"""Tensors, and models, to a file and back."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from safetensors import read, write

KINDS = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
_NAMES = {kind: name for name, kind in KINDS.items()}


def save_file(
    tensors: Mapping[str, Tensor], path: str | Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a file."""
    raw = {}
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        raw[name] = (_NAMES[tensor.dtype], tuple(tensor.shape), flat.numpy().tobytes())
    write(path, raw, metadata)


def load_file(path: str | Path, device: str | int = "cpu") -> dict[str, Tensor]:
    """Return the tensors of a file."""
    return {
        name: torch.frombuffer(bytearray(content), dtype=KINDS[kind]).reshape(shape).to(device)
        if content
        else torch.empty(shape, dtype=KINDS[kind], device=device)
        for name, (kind, shape, content) in read(path)[0].items()
    }


def save_model(model: nn.Module, path: str) -> None:
    """Write a model's weights; of tensors with several names one is kept, and the others noted."""
    kept: dict[tuple[int, torch.Size], str] = {}
    tensors, aliases = {}, {}
    for name, tensor in sorted(model.state_dict().items()):
        first = kept.setdefault((tensor.data_ptr(), tensor.shape), name)
        if first == name or not tensor.numel():
            tensors[name] = tensor
        else:
            aliases[name] = first
    save_file(tensors, path, aliases | {"format": "pt"})


def load_model(model: nn.Module, path: str, device: str | int = "cpu") -> None:
    """Read a model's weights.

    Raises:
        RuntimeError: if names or shapes are others.
    """
    found = load_file(path, device)
    state = model.state_dict()
    places: dict[tuple[int, torch.Size], Tensor] = {
        (state[name].data_ptr(), state[name].shape): tensor
        for name, tensor in found.items()
        if name in state
    }
    for name, tensor in state.items():
        if name not in found and (tensor.data_ptr(), tensor.shape) in places:
            found[name] = places[tensor.data_ptr(), tensor.shape]
    model.load_state_dict(found)
