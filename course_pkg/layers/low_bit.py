"""Quantization: linear layers whose weights stay in four or eight bits while they compute.

A model that writes one token multiplies each of its weights once, so its speed is that of reading
them from memory: weights of four bits are read eight times as fast as float32. A scale for each
block of 32 weights keeps one large weight from costing all others their digits.

torch's kernels for such products have private names. They are called here and nowhere else; where
one is missing, or does not take a shape, the weights are dequantised on the way: equal in value,
and slow.

Chapter: GPT. Jacob et al. 2018 (8 bits); Dettmers et al. 2022 (8 bits by rows and columns);
the GGUF format of llama.cpp (blocks of 32).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int, Int8, UInt8
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.layers.inputs import look_up

BLOCK = 32
"""Weights of a row that share a scale."""

BYTES_PER_BLOCK = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34}
"""GGUF's kinds of blocks that are read here: a float16 scale, a float16 minimum in Q4_1 only, and
32 codes of four or eight bits."""

MOST_ROWS = 16
"""Up to so many tokens at once the kernel for eight bits is the faster way; a longer prompt shares
the work of dequantising among its tokens. The one for four bits is as fast as float32 with any."""


def block_parts(
    blocks: UInt8[Tensor, "N bytes"], kind: str
) -> tuple[Tensor, Float[Tensor, "N n 1"], Float[Tensor, "N n 1"]]:
    """Take blocks apart into what weights are made of: w = scale * code + offset.

    Args:
        blocks: rows of blocks, as a GGUF file has them.
        kind: a key of `BYTES_PER_BLOCK`.

    Returns:
        codes (N, n, 32): 0 to 15 in four bits, -128 to 127 in eight.
        scale: of each block, in float32, as is the offset.
        offset: the minimum in Q4_1, -8 scale in Q4_0, else 0.

    Raises:
        ValueError: if there is no such kind, or these are no rows of whole blocks of it.
    """
    parts = _blocks_of(blocks, kind)
    scale = parts[..., :2].contiguous().view(torch.float16).float()
    if kind == "Q8_0":
        return parts[..., 2:].view(torch.int8), scale, torch.zeros_like(scale)
    if kind == "Q4_1":
        offset, packed = parts[..., 2:4].contiguous().view(torch.float16).float(), parts[..., 4:]
    else:
        offset, packed = -8 * scale, parts[..., 2:]
    # A byte holds code i in its low half and code i + 16 in its high half.
    return torch.cat([packed & 15, packed >> 4], dim=-1), scale, offset


def dequantise(blocks: UInt8[Tensor, "N bytes"], kind: str) -> Float[Tensor, "N D"]:
    """Return the weights that rows of blocks stand for, in float32; see `block_parts`."""
    codes, scale, offset = block_parts(blocks, kind)
    return (codes * scale + offset).flatten(-2)


def are_finite(blocks: UInt8[Tensor, "N bytes"], kind: str) -> bool:
    """Say whether no block has a scale or a minimum that is nan or infinite."""
    parts = _blocks_of(blocks, kind)
    numbers = parts[..., : 4 if kind == "Q4_1" else 2].contiguous().view(torch.float16)
    return bool(numbers.isfinite().all())


def _blocks_of(blocks: UInt8[Tensor, "N bytes"], kind: str) -> UInt8[Tensor, "N n size"]:
    """Part rows where their blocks end, or refuse what has none of this kind."""
    if kind not in BYTES_PER_BLOCK:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(BYTES_PER_BLOCK)}")
    size = BYTES_PER_BLOCK[kind]
    if blocks.dtype != torch.uint8 or blocks.dim() < 1 or blocks.shape[-1] % size:
        raise ValueError(
            f"blocks is {blocks.dtype} of shape {tuple(blocks.shape)}; it must be uint8, rows of "
            f"whole blocks of {kind}, {size} bytes each"
        )
    return blocks.unflatten(-1, (-1, size))


def quantise_rows(weight: Float[Tensor, "N D"]) -> tuple[Int8[Tensor, "N D"], Float[Tensor, " N"]]:
    """Round each row to eight bits: w = scale * code, the largest weight of a row being 127.

    Raises:
        ValueError: if these are no rows of weights, or one of them is nan or infinite.
    """
    if weight.dim() != 2 or not weight.is_floating_point():
        raise ValueError(
            f"weight is {weight.dtype} of shape {tuple(weight.shape)}; it must be fractions in rows"
        )
    scale = weight.abs().amax(dim=1).float() / 127
    if not bool(scale.isfinite().all()):
        raise ValueError("weight has a nan or is infinite; such numbers have no code")
    codes = (weight / scale.clamp(min=torch.finfo(torch.float32).tiny).unsqueeze(1)).round()
    return codes.to(torch.int8), scale


class BlockLinear(nn.Module):
    """x W^T with W in blocks of four bits, which are never dequantised where torch has the kernel.

    Args:
        blocks: W, a row for each output.
        kind: "Q4_0" or "Q4_1".
    """

    codes: Tensor
    scales: Tensor

    def __init__(self, blocks: UInt8[Tensor, "N bytes"], kind: str) -> None:
        super().__init__()
        if kind not in ("Q4_0", "Q4_1"):
            raise ValueError(f"kind is {kind!r}; it must be Q4_0 or Q4_1")
        if blocks.dim() != 2:
            raise ValueError(f"blocks has shape {tuple(blocks.shape)}; it must be rows of blocks")
        codes, scale, offset = block_parts(blocks, kind)
        self.shape = len(codes), codes.shape[1] * BLOCK  # (N, D)
        self.is_packed = "int4" in _KERNELS and len(codes) % 16 == 0
        if self.is_packed:
            # The kernel's weights are (code - 8) scale + zero, its scales lie block by block.
            codes = torch._convert_weight_to_int4pack_for_cpu(codes.flatten(1).int(), 1)
            pair = torch.cat([scale, offset + 8 * scale], dim=-1)
            scales = pair.transpose(0, 1).contiguous()
        else:
            scales = torch.stack([scale, offset])
        self.register_buffer("codes", codes)
        self.register_buffer("scales", scales.to(torch.bfloat16))

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch N"]:
        """Multiply, in bfloat16.

        Raises:
            ValueError: if `x` is not D wide, or of whole numbers.
        """
        _check_vectors(x, self.shape[1])
        if not self.is_packed:
            scale, offset = self.scales
            return F.linear(x, (self.codes * scale + offset).flatten(1).to(x.dtype))
        rows = x.reshape(-1, x.shape[-1]).to(torch.bfloat16)
        # The kernel knows scales of bfloat16 only, and `model.float()` changes them.
        scales = self.scales.to(torch.bfloat16)
        out: Tensor = _KERNELS["int4"](rows, self.codes, BLOCK, scales)
        return out.view(*x.shape[:-1], self.shape[0]).to(x.dtype)


class RowLinear(nn.Module):
    """x W^T with W in eight bits and one scale for each output: what `quantise_rows` returns."""

    codes: Tensor
    scale: Tensor

    def __init__(self, codes: Int8[Tensor, "N D"], scale: Float[Tensor, " N"]) -> None:
        super().__init__()
        if codes.dtype != torch.int8 or codes.dim() != 2 or scale.shape != codes.shape[:1]:
            raise ValueError(
                f"codes is {codes.dtype} of shape {tuple(codes.shape)} and scale has shape "
                f"{tuple(scale.shape)}; they must be int8 in rows, and one number a row"
            )
        self.register_buffer("codes", codes)
        self.register_buffer("scale", scale.to(torch.bfloat16))

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch N"]:
        """Multiply, in bfloat16.

        Raises:
            ValueError: if `x` is not D wide, or of whole numbers.
        """
        _check_vectors(x, self.codes.shape[1])
        rows = x.reshape(-1, x.shape[-1])
        if "int8" not in _KERNELS or len(rows) > MOST_ROWS or x.device.type != "cpu":
            return F.linear(x, self.codes.to(x.dtype)) * self.scale.to(x.dtype)
        scale = self.scale.to(torch.bfloat16)
        out: Tensor = _KERNELS["int8"](rows.to(torch.bfloat16), self.codes, scale)
        return out.view(*x.shape[:-1], len(self.codes)).to(x.dtype)


class RowEmbedding(RowLinear):
    """A table of vectors in eight bits, one scale for each; it also scores tokens, as if tied."""

    def forward(self, ids: Int[Tensor, "*T"]) -> Float[Tensor, "*T D"]:  # type: ignore[override]
        """Return a vector for each id, in bfloat16.

        Raises:
            ValueError: if an id is out of range.
        """
        codes = look_up(self.codes, ids, "ids")
        return codes.to(self.scale.dtype) * self.scale[ids].unsqueeze(-1)

    def compare(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        """Return how well vectors fit each row of the table."""
        return RowLinear.forward(self, x)


def _check_vectors(x: Tensor, width: int) -> None:
    """Refuse what the kernels would cut to whole numbers, or name by letters of their own."""
    if not x.is_floating_point() or x.dim() < 1 or x.shape[-1] != width:
        raise ValueError(
            f"x is {x.dtype} of shape {tuple(x.shape)}; it must be vectors of {width} fractions"
        )


class Head(nn.Linear):
    """A layer that a task adds, in its own precision: what is below may have 16 bits, or fewer."""

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch N"]:
        """Multiply, in the precision of the weights."""
        return super().forward(x.to(self.weight.dtype))


def refuse_few_bits(modules: Mapping[str, nn.Module]) -> None:
    """Refuse layers that are to learn, but whose weights are codes.

    Raises:
        ValueError: naming the first.
    """
    for name, module in modules.items():
        if isinstance(module, BlockLinear | RowLinear):
            raise ValueError(
                f"{name} has weights of few bits, which cannot learn; load the model with "
                'precision="float32" or "bfloat16"'
            )


def joined(layers: Sequence[Any]) -> Callable[[Tensor], Tensor]:
    """Return one product in place of several of the same rows: their outputs side by side.

    Layers in few bits become views of one array, so that no memory is taken twice.

    Args:
        layers: without bias, of the same width.

    Returns:
        of (N, D) to (N, the sum of their outputs); of layers in few bits, for few rows in bfloat16.
    """
    kinds = {type(layer) for layer in layers}
    if kinds == {BlockLinear} and all(_packs_alone(layer) for layer in layers):
        codes = _one_array(layers, "codes")
        scales = layers[0].scales
        if len(layers) > 1:  # its parts lie apart in it, so that the layers keep theirs
            scales = torch.cat([layer.scales for layer in layers], dim=1)
        scales = scales.to(torch.bfloat16)
        return lambda x: _KERNELS["int4"](x.to(torch.bfloat16), codes, BLOCK, scales)
    if kinds == {RowLinear} and "int8" in _KERNELS and layers[0].codes.device.type == "cpu":
        codes, scale = _one_array(layers, "codes"), _one_array(layers, "scale").to(torch.bfloat16)
        return lambda x: _KERNELS["int8"](x.to(torch.bfloat16), codes, scale)
    if len(layers) == 1:
        return layers[0]
    return lambda x: torch.cat([layer(x) for layer in layers], dim=-1)


def _packs_alone(layer: Any) -> bool:
    """Say whether a matrix is packed as it would be as a part of a larger one: 64 rows by 64."""
    return layer.is_packed and layer.scales.shape[1] % 64 == 0


def _one_array(layers: Sequence[Any], name: str) -> Tensor:
    """Join arrays of layers, which keep a view of their part."""
    parts = [getattr(layer, name) for layer in layers]
    whole = torch.cat(parts)
    for layer, part in zip(layers, whole.split([len(part) for part in parts]), strict=True):
        setattr(layer, name, part)
    return whole


def _find_kernels() -> dict[str, Any]:
    names = {"int4": "_weight_int4pack_mm_for_cpu", "int8": "_weight_int8pack_mm"}
    return {bits: getattr(torch, name) for bits, name in names.items() if hasattr(torch, name)}


_KERNELS = _find_kernels()
