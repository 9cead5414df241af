"""In place of safetensors: its format in a page, without its speed.

A file is the length of a header in eight bytes, the header as JSON (for each tensor its type, its
shape, and where its bytes stand; under "__metadata__" some text), and the bytes, one tensor after
the other. What is written here the library reads, and the reverse.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1}
SIZES |= {"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}

Raw = tuple[str, tuple[int, ...], bytes]
"""Type, shape and bytes of a tensor."""


class SafetensorError(Exception):
    """What is no file of this format."""


def write(path: str | Path, tensors: Mapping[str, Raw], metadata: Mapping[str, str] | None) -> None:
    """Write a file."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    # Wide types first, so that all stand at places that their size divides.
    ordered = sorted(tensors.items(), key=lambda item: (-SIZES[item[1][0]], item[0]))
    for name, (kind, shape, content) in ordered:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(content)]}
        end += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with Path(path).open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, (_, _, content) in ordered:
            file.write(content)


def read(path: str | Path) -> tuple[dict[str, Raw], dict[str, str]]:
    """Return the tensors of a file, and its metadata.

    Raises:
        SafetensorError: if it is no such file, or cut off.
    """
    content = Path(path).read_bytes()
    try:
        (n,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + n].decode())
        metadata = header.pop("__metadata__", {})
        tensors, end = {}, 0
        for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            kind, shape, (first, last) = about["dtype"], about["shape"], about["data_offsets"]
            if first != end or last - first != SIZES[kind] * prod(shape):
                raise ValueError(f"the place of {name} is wrong")
            tensors[name], end = (kind, tuple(shape), content[8 + n + first : 8 + n + last]), last
        if 8 + n + end != len(content):
            raise ValueError("its length is wrong")
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SafetensorError(f"{path} is damaged: {error}") from error
    return tensors, metadata


class safe_open:  # noqa: N801 (the library's own name)
    """A file opened for reading; its tensors are NumPy's."""

    def __init__(self, path: str | Path, framework: str) -> None:
        if framework != "numpy":
            raise ValueError(f"framework is {framework!r}; here it must be 'numpy'")
        self._tensors, self._metadata = read(path)

    def __enter__(self) -> "safe_open":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def keys(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._tensors)

    def metadata(self) -> dict[str, str]:
        """Return the text that was stored with the tensors."""
        return self._metadata

    def get_tensor(self, name: str) -> np.ndarray:
        """Return one tensor."""
        from safetensors.numpy import array

        return array(self._tensors[name])
