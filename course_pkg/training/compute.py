"""What training costs: operations per token, and how many of them this device could do.

A weight of a matrix takes part in one multiplication and one addition per token; the backward pass
takes twice the work of the forward pass. Six operations per weight and token is all that the
famous estimate 6 N D says (Kaplan et al. 2020, section 2.1). The share of a device's peak that
these operations make up is the model-FLOPs utilisation: Chowdhery et al. 2022, appendix B.
Chapter: training transformers.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.models.transformer import Stack, count_parameters

DATA_SHEETS = {
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "T4": 65e12,
    "V100": 125e12,
}
"""Dense 16-bit operations a second of a GPU's tensor cores, as its maker states them."""


_WIDTHS = {"cuda": 8192, "mps": 2048}
"""Of matrices large enough to keep a GPU busy; a CPU is with less."""


@dataclass(frozen=True)
class Peak:
    """The most operations a second, and where the figure comes from."""

    flops_per_second: float
    source: str


def training_flops(n_params: float, n_tokens: float) -> float:
    """Return the operations of a training run, attention's scores left out: 6 N D.

    Kaplan et al. 2020, eq. 2.2 and section 2.1.

    Example:
        >>> f"{training_flops(175e9, 300e9):.2e}"  # GPT-3; its paper says 3.14e23
        '3.15e+23'
    """
    return 6.0 * n_params * n_tokens


def multiplied_params(model: nn.Module) -> int:
    """Count the weights that every token is multiplied with.

    Tables that are only looked up do not count; a tied embedding does, since it is also the output
    matrix; a block that several layers share counts once for each of them.
    """
    config = getattr(model, "config", None)
    n_params = sum(
        weight.numel()
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
        for weight in module.parameters(recurse=False)
    )
    for stack in _stacks(model):
        n_params += (_n_uses(stack) - 1) * count_parameters(stack.blocks)
    if config is not None and config.is_tied:
        n_params += config.vocab_size * config.d_model
    return n_params


def flops_per_token(model: nn.Module, context_length: int) -> float:
    """Return the operations of one update per token: 6 N + 12 L D T.

    The second part is attention's scores and weighted averages, counted in full as the field does
    although half of a causal layer's are masked: Chowdhery et al. 2022, appendix B.
    """
    width = sum(
        _n_uses(stack) * module.query.out_features
        for stack in _stacks(model)
        for module in stack.modules()
        if isinstance(module, MultiHeadAttention)
    )
    return 6.0 * multiplied_params(model) + 12.0 * width * context_length


def _stacks(model: nn.Module) -> list[Stack]:
    return [module for module in model.modules() if isinstance(module, Stack)]


def _n_uses(stack: Stack) -> int:
    """How many layers each of a stack's blocks stands for."""
    return stack.n_layers // len(stack.blocks)


def peak_flops(device: torch.device, precision: str) -> Peak:
    """Return the data sheet's figure where it is known, else that of a large matrix product."""
    if device.type == "cuda" and precision != "float32":
        name = torch.cuda.get_device_name(device)
        for model, flops in DATA_SHEETS.items():
            if model in name:
                return Peak(flops, f"data sheet of {name}")
    return Peak(_measured_flops(device, getattr(torch, precision)), "measured matrix product")


def _measured_flops(device: torch.device, dtype: torch.dtype, n_rounds: int = 5) -> float:
    """Time a product of square matrices; the best round is the one least disturbed."""
    width = _WIDTHS.get(device.type, 512)
    matrix = torch.ones(width, width, device=device, dtype=dtype)
    seconds = []
    for _ in range(n_rounds + 1):
        started = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # reading an entry waits for the product
        seconds.append(time.perf_counter() - started)
    return 2.0 * width**3 / min(seconds[1:])


@contextmanager
def explained_out_of_memory(shape: Sequence[int], device: torch.device) -> Iterator[None]:
    """Turn a device's lack of memory for a batch of some shape into advice.

    Raises:
        MemoryError: in place of the errors that a GPU and a CPU have for this.
    """
    try:
        yield
    except RuntimeError as error:
        # A GPU has an exception of its own for it, a CPU has not.
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate" not in str(error):
            raise
        raise MemoryError(
            f"a batch of shape {tuple(shape)} does not fit on {device}: make batches smaller and "
            "raise n_accumulate by the same factor"
        ) from error
