"""GGUF files, in which quantised models travel: structure, arrays and tokenizer in one file.

The format is llama.cpp's. Its own library, `gguf`, reads the file; what is here says which of our
arrays each of its arrays is, for models of LLaMA's structure. Whatever no rule explains is an
error, so a model that loads is the one in the file.

Chapter: GPT. Touvron et al. 2023 (LLaMA).
"""

import errno
import hashlib
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from course_pkg.common.checks import check_id, real_number
from course_pkg.common.files import path_of
from course_pkg.layers.low_bit import BLOCK, BYTES_PER_BLOCK, are_finite, dequantise
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.tokenizers import BytePairTokenizer
from course_pkg.text.tokenizers.byte_pair import DIGITS_PATTERN, GPT2_PATTERN, from_printable

KINDS = ("F32", "F16", *BYTES_PER_BLOCK)
"""How arrays may be stored in a file that can be read."""

_MAGIC = b"GGUF"
_NORM_EPS = 1e-5

_RULES = [
    (r"^token_embd\.", "embedding."),
    (r"^output_norm\.", "stack.final_norm."),
    (r"^output\.", "unembedding."),
    (r"^blk\.(\d+)\.attn_norm\.", r"stack.blocks.\1.norms.0."),
    (r"^blk\.(\d+)\.ffn_norm\.", r"stack.blocks.\1.norms.1."),
    (r"^blk\.(\d+)\.attn_q\.", r"stack.blocks.\1.attention.query."),
    (r"^blk\.(\d+)\.attn_k\.", r"stack.blocks.\1.attention.key."),
    (r"^blk\.(\d+)\.attn_v\.", r"stack.blocks.\1.attention.value."),
    (r"^blk\.(\d+)\.attn_output\.", r"stack.blocks.\1.attention.output."),
    # What it calls the gate is activated; ours is what the activated units are multiplied by.
    (r"^blk\.(\d+)\.ffn_gate\.", r"stack.blocks.\1.feed_forward.expand."),
    (r"^blk\.(\d+)\.ffn_up\.", r"stack.blocks.\1.feed_forward.gate."),
    (r"^blk\.(\d+)\.ffn_down\.", r"stack.blocks.\1.feed_forward.contract."),
]

_PATTERNS = {"gpt-2": GPT2_PATTERN, "smollm": DIGITS_PATTERN}
"""Where text is cut before merging, by the file's name for it."""

_SIZES = {
    "context_length": "context_length",
    "d_model": "embedding_length",
    "n_heads": "attention.head_count",
    "n_kv_heads": "attention.head_count_kv",
    "n_layers": "block_count",
    "d_ff": "feed_forward_length",
}
_OTHER_FIELDS = (
    "attention.layer_norm_rms_epsilon",
    "attention.key_length",
    "attention.value_length",
    "rope.freq_base",
    "rope.dimension_count",
    "vocab_size",
)
_NORMAL, _CONTROL = 1, 3  # types of tokens


@dataclass(frozen=True)
class StoredArray:
    """An array of weights as the file has it.

    Attributes:
        kind: one of `KINDS`.
        data: the numbers, or rows of blocks as bytes (see `layers.low_bit`).
    """

    kind: str
    data: Tensor

    def dequantised(self) -> Float[Tensor, "*shape"]:
        """Return the weights in float32."""
        if self.kind in BYTES_PER_BLOCK:
            return dequantise(self.data, self.kind)
        return self.data.float()

    def split(self, n: int) -> list["StoredArray"]:
        """Return its rows in parts of `n` at most."""
        return [StoredArray(self.kind, part) for part in self.data.split(n)]

    @property
    def shape(self) -> torch.Size:
        """Of the weights that it holds."""
        if self.kind not in BYTES_PER_BLOCK:
            return self.data.shape
        *rows, n_bytes = self.data.shape
        return torch.Size([*rows, n_bytes // BYTES_PER_BLOCK[self.kind] * BLOCK])

    @property
    def is_finite(self) -> bool:
        """Whether no weight is nan or infinite."""
        if self.kind in BYTES_PER_BLOCK:
            return are_finite(self.data, self.kind)
        return bool(self.data.isfinite().all())


@dataclass(frozen=True)
class GGUFModel:
    """What a file holds: all that is needed to build a model and talk to it.

    Attributes:
        config: structure.
        arrays: by the names that our `GPT` has for them, query and key in our order of rows.
        fields: everything that the file says about itself, by the format's names.
    """

    config: TransformerConfig
    arrays: Mapping[str, StoredArray]
    fields: Mapping[str, Any]


def read_gguf(path: str | Path, *, sha256: str | None = None, size: int | None = None) -> GGUFModel:
    """Read a GGUF file of LLaMA's structure; the weights stay in the file until they are used.

    Args:
        sha256: digest that the file must have; None takes any.
        size: of the file with that digest, in bytes: a shorter one is said to be.

    Raises:
        ModuleNotFoundError: if the library that reads it is missing, with what installs it.
        ValueError: if there is no file, it is damaged or has another digest, or it holds what our
            model has not: another structure, or arrays of other kinds; names it. Or if the file
            does not fit into the memory that this program may take.
    """
    open_file, path = _reader(), path_of(path)
    if not path.is_file():
        raise ValueError(f"{path} is no file; it must be a model as GGUF")
    _check_beginning(path)
    if sha256 is not None:
        _check_digest(path, sha256, size)
    try:
        reader = open_file(path, "c")  # torch takes memory that may be written; nothing writes it
        fields = {name: field.contents() for name, field in reader.fields.items()}
        stored = {array.name: array for array in reader.tensors}
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise ValueError(
                f"{path} takes {path.stat().st_size / 1e9:.2f} GB, and this program may not have "
                "so much more memory; end other programs, or raise its limit"
            ) from error
        raise ValueError(
            f"{path} cannot be read as GGUF; is it whole, and a file of that kind? ({error})"
        ) from error
    config = _config(fields, is_tied="output.weight" not in stored)
    if not any(name.startswith(f"blk.{config.n_layers - 1}.") for name in stored):
        raise ValueError(
            f"the file lacks stack.blocks.{config.n_layers - 1}., the last of llama.block_count"
        )
    arrays = {}
    for name, array in stored.items():
        kind = array.tensor_type.name
        if kind not in KINDS:
            raise ValueError(f"{name} is stored as {kind}; it must be one of {', '.join(KINDS)}")
        ours = _our_name(name)
        data = torch.from_numpy(array.data)
        heads = {"query": config.n_heads, "key": config.n_kv_heads or config.n_heads}
        n_heads = heads.get(ours.split(".")[-2])
        if n_heads is not None:
            if len(data) % (2 * n_heads):
                raise ValueError(f"{name} has {len(data)} rows; {n_heads} heads need an even share")
            data = _in_halves(data, n_heads)
        arrays[ours] = StoredArray(kind, data)
    return GGUFModel(config, arrays, fields)


def gguf_tokenizer(fields: Mapping[str, Any]) -> BytePairTokenizer:
    """Build the tokenizer that a file holds.

    Raises:
        ValueError: if it is of another kind than byte pairs, or cuts text as ours cannot.
    """
    _require(fields, "tokenizer.ggml.model", "gpt2", "byte pairs")
    cut = fields.get("tokenizer.ggml.pre")
    if cut not in _PATTERNS:
        raise ValueError(f"tokenizer.ggml.pre is {cut!r}; it must be one of {', '.join(_PATTERNS)}")
    for name in ("add_bos_token", "add_eos_token"):
        if fields.get(f"tokenizer.ggml.{name}", False):
            raise ValueError(f"tokenizer.ggml.{name} is True; ours adds no token to a text")
    kinds = {"tokens": str, "token_type": int, "merges": str}
    tokens, types, merges = (
        _list_field(fields, f"tokenizer.ggml.{name}", kind) for name, kind in kinds.items()
    )
    if unknown := set(types) - {_NORMAL, _CONTROL}:
        raise ValueError(f"tokenizer.ggml.token_type has {min(unknown)}; it must be 1 or 3")
    if len(types) != len(tokens):
        raise ValueError(
            f"tokenizer.ggml.token_type has {len(types):,} entries; it must have one for each of "
            f"{len(tokens):,} tokens"
        )
    special = {token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL}
    eos_id = _field(fields, "tokenizer.ggml.eos_token_id")
    check_id("tokenizer.ggml.eos_token_id", eos_id, len(tokens))
    end = tokens[eos_id]
    return BytePairTokenizer(
        [token if token in special else from_printable(token) for token in tokens],
        [_pair(line) for line in merges],
        pattern=_PATTERNS[cut],
        # An instructed model ends its answers with another token than its texts.
        eos="<|endoftext|>" if "<|endoftext|>" in special else end,
        is_complete=False,
    )


def _pair(line: str) -> tuple[bytes, bytes]:
    first, _, second = line.partition(" ")
    return from_printable(first), from_printable(second)


def _reader() -> type[Any]:
    """Return the library's reader, four times as fast and with half the memory."""
    try:
        # Typed alike whether or not it is installed.
        gguf: Any = importlib.import_module("gguf")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "GGUF files are read by the library gguf: pip install gguf==0.19.0", name=error.name
        ) from error

    class Reader(gguf.GGUFReader):  # type: ignore[misc]
        """Keeps the file as a plain array: of a `memmap` it would take 300,000 slow slices."""

        @property
        def data(self) -> np.ndarray:
            return self._data

        @data.setter
        def data(self, whole: np.ndarray) -> None:
            self._data = whole.view(np.ndarray)

    return Reader


def _check_beginning(path: Path) -> None:
    with path.open("rb") as file:
        beginning = file.read(len(_MAGIC))
    if beginning != _MAGIC:
        raise ValueError(
            f"{path} cannot be read as GGUF; is it whole, and a file of that kind? (It begins with "
            f"{beginning!r}, such files with {_MAGIC!r}.)"
        )


def _check_digest(path: Path, sha256: str, size: int | None) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        has = path.stat().st_size
        why = "another file, or a damaged one"
        if size is not None and has < size:
            why = f"another file, or only {has:,} bytes of {size:,} have arrived"
        raise ValueError(f"the sha256 of {path} is {digest}; it must be {sha256}: {why}")


def _config(fields: Mapping[str, Any], *, is_tied: bool) -> TransformerConfig:
    """Return the structure, or refuse what ours cannot be."""
    _require(fields, "general.architecture", "llama", "LLaMA's structure")
    known = {f"llama.{name}" for name in (*_SIZES.values(), *_OTHER_FIELDS)}
    for name, value in fields.items():
        if name.startswith("llama.") and name not in known:
            raise ValueError(f"{name} is {value!r}; our model has no such choice")
    sizes = {ours: _field(fields, f"llama.{theirs}") for ours, theirs in _SIZES.items()}
    name = "llama.attention.layer_norm_rms_epsilon"
    epsilon = real_number(name, _field(fields, name))
    if abs(epsilon - _NORM_EPS) > 1e-3 * _NORM_EPS:  # it was rounded to float32
        raise ValueError(f"{name} is {epsilon}; our model has {_NORM_EPS}")
    n_tokens = len(_list_field(fields, "tokenizer.ggml.tokens", str))
    if fields.get("llama.vocab_size", n_tokens) != n_tokens:
        raise ValueError(
            f"llama.vocab_size is {fields['llama.vocab_size']}; the tokenizer has {n_tokens} tokens"
        )
    name = "llama.rope.freq_base"
    config = TransformerConfig(
        vocab_size=n_tokens,
        positions="rotary",
        rotary_base=real_number(name, fields.get(name, 10_000.0)),
        norm="rms",
        activation="swiglu",
        has_bias=False,
        is_tied=is_tied,
        **sizes,
    )
    for name in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        width = fields.get(f"llama.{name}", config.d_head)
        if width != config.d_head:
            raise ValueError(f"llama.{name} is {width}; our model has {config.d_head}")
    return config


def _our_name(name: str) -> str:
    """Return our name of an array.

    Raises:
        ValueError: if no rule explains it.
    """
    for pattern, replacement in _RULES:
        ours, n = re.subn(pattern, replacement, name)
        if n:
            return ours
    raise ValueError(f"the file has an array {name!r}, which no rule explains")


def _in_halves(rows: Tensor, n_heads: int) -> Tensor:
    """Put the rows of each head into our order, whether they are numbers or blocks.

    llama.cpp turns neighbours 2i, 2i + 1 of a head by one angle; ours are i and i + K/2.
    """
    return rows.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2).contiguous()


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        raise ValueError(f"the file lacks {name}")
    return fields[name]


def _list_field(fields: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    found = _field(fields, name)
    if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
        what = "texts" if kind is str else "whole numbers"
        raise ValueError(f"{name} is {found!r:.40}; it must be a list of {what}")
    return found


def _require(fields: Mapping[str, Any], name: str, value: str, meaning: str) -> None:
    if fields.get(name) != value:
        raise ValueError(f"{name} is {fields.get(name)!r}; it must be {value!r}: {meaning}")
