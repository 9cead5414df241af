"""Arrays to a file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from safetensors import Raw, write

KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}


def array(raw: Raw) -> np.ndarray:
    """Return what a file holds of one tensor."""
    kind, shape, content = raw
    return np.frombuffer(bytearray(content), np.dtype(KINDS[kind])).reshape(shape)


def save_file(
    tensors: Mapping[str, np.ndarray], path: str | Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays to a file."""
    raw = {name: (_NAMES[a.dtype], a.shape, a.tobytes()) for name, a in tensors.items()}
    write(path, raw, metadata)
