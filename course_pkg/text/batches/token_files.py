"""Token files: a corpus as ids on disk, read without loading it into memory.

A file is a header of 64 bytes, then the ids, two bytes each if the vocabulary allows it, else four.
The header says how many ids follow and what their checksum is, so that a copy that stopped halfway
or a flipped bit is found before a model trains on it.
Chapter: fixed-window.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from course_pkg.common.checks import whole_numbers
from course_pkg.common.files import path_of, replacing

MAGIC = b"LMTOKENS"
HEADER = struct.Struct("<8sHHIQI36x")  # magic, version, bytes per id, vocabulary, ids, checksum
VERSION = 2
"""In version 1, which is read as well, the checksum was of the ids alone, not of the header."""
DTYPES: dict[int, np.dtype] = {
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
}  # little-endian on every machine

Ids = Sequence[int] | np.ndarray | Tensor


def write_token_file(path: str | Path, chunks: Iterable[Ids], vocab_size: int) -> int:
    """Write ids to `path` and return how many.

    The file appears complete or not at all: it is written beside `path` and then renamed.

    Args:
        chunks: pieces of the stream, for example one list of ids per document; only one piece at a
            time is held in memory.
        vocab_size: ids are below it; up to 65,536 they take two bytes each, else four.

    Raises:
        ValueError: if vocab_size does not fit four bytes, or an id lies outside the vocabulary.
    """
    whole_numbers(vocab_size=vocab_size)
    if vocab_size > 2**32:
        raise ValueError(f"vocab_size is {vocab_size}; it must be 1 to 2**32")
    width = 2 if vocab_size <= 2**16 else 4
    n_tokens = checksum = 0
    with replacing(path) as scratch, scratch.open("wb") as file:
        file.write(bytes(HEADER.size))  # its place; it is known when the ids are
        for chunk in chunks:
            content = _encode(chunk, vocab_size, width)
            checksum = zlib.crc32(content, checksum)
            n_tokens += len(content) // width
            file.write(content)
        header = (MAGIC, VERSION, width, vocab_size - 1, n_tokens)
        file.seek(0)
        file.write(HEADER.pack(*header, zlib.crc32(HEADER.pack(*header, 0), checksum)))
        file.flush()
        os.fsync(file.fileno())
    return n_tokens


def _encode(chunk: Ids, vocab_size: int, width: int) -> bytes:
    ids = np.asarray(chunk)
    if ids.size and ids.dtype.kind not in "iu":
        raise ValueError(f"chunk is {ids.dtype}; it must hold whole numbers, the ids of tokens")
    ids = ids.astype(np.int64)
    outside = ids[(ids < 0) | (ids >= vocab_size)]
    if outside.size:
        raise ValueError(f"id {outside[0]} lies outside the vocabulary of {vocab_size}")
    return ids.astype(DTYPES[width]).tobytes()


class TokenFile:
    """A token file opened for reading; index it like a one-dimensional tensor.

    Args:
        is_verified: reads the whole file once and compares its checksum.

    Raises:
        ValueError: if the file is no token file, was cut off, or has changed since it was written.
    """

    def __init__(self, path: str | Path, *, is_verified: bool = True) -> None:
        path = path_of(path)
        with path.open("rb") as file:
            header = file.read(HEADER.size)
        if len(header) < HEADER.size or not header.startswith(MAGIC):
            raise ValueError(f"{path} is not a token file: it does not start with {MAGIC!r}")
        *fields, checksum = HEADER.unpack(header)
        _, version, width, largest_id, n_tokens = fields
        if not 1 <= version <= VERSION or width not in DTYPES:
            raise ValueError(
                f"{path} has format version {version} with {width} bytes per id; "
                f"this program reads versions 1 to {VERSION} with 2 or 4"
            )
        expected, found = HEADER.size + width * n_tokens, path.stat().st_size
        if found != expected:
            raise ValueError(
                f"{path} is cut off or overlong: it has {found} bytes, its header says {expected}"
            )
        self.path, self.vocab_size, self.checksum = path, largest_id + 1, checksum
        self.ids: np.ndarray = np.empty(0, DTYPES[width])
        if n_tokens:  # nothing cannot be mapped
            self.ids = np.memmap(path, DTYPES[width], "r", offset=HEADER.size)
        if is_verified:
            of_ids = self._checksum()
            if checksum != (
                of_ids if version == 1 else zlib.crc32(HEADER.pack(*fields, 0), of_ids)
            ):
                raise ValueError(f"{path} is corrupt: it does not match the checksum in its header")

    def _checksum(self) -> int:
        checksum, step = 0, 2**24
        for start in range(0, len(self.ids), step):
            checksum = zlib.crc32(self.ids[start : start + step].tobytes(), checksum)
        return checksum

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: slice | Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """Return a copy of the chosen ids; a tensor of positions gives a tensor of its shape."""
        chosen = self.ids[index if isinstance(index, slice) else index.numpy()]
        return torch.from_numpy(chosen.astype(np.int64))
