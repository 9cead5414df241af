"""In which floats a run computes, mixed precision included: decided here and nowhere else.

float32 means float32. A GPU could round the factors of float32 products to the ten bits of TF32;
PyTorch does so by default in recurrent layers but not in matrix products, so that two models of one
table would not be computed alike. A run that wants speed says bfloat16, and its log shows it.
Weights, their updates, softmaxes and losses stay float32 in every precision (Micikevicius et al.
2018). Chapter: training transformers.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

PRECISIONS = ("float32", "bfloat16", "float16")
"""What the forward pass may compute in."""


def forbid_tf32() -> None:
    """Let float32 products be float32 products, in this process from now on."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False  # the recurrent kernels


def autocast(device: torch.device, precision: str) -> AbstractContextManager[None]:
    """Return the context in which a model computes in one of `PRECISIONS`, whatever is around."""
    if precision == "float32":
        has_it = torch.amp.is_autocast_available(device.type)  # else torch refuses the question
        is_around = has_it and torch.is_autocast_enabled(device.type)
        return torch.autocast(device.type, enabled=False) if is_around else nullcontext()
    return torch.autocast(device.type, dtype=getattr(torch, precision))


def check_weights(model: nn.Module) -> None:
    """Refuse weights that cannot be trained as they are.

    Raises:
        ValueError: naming the weight.
    """
    for name, weight in model.named_parameters():
        if weight.is_meta:
            raise ValueError(
                f"{name} is on the device meta, which holds no numbers; build the model on the CPU"
            )
        if weight.is_inference():
            raise ValueError(
                f"{name} was made in torch.inference_mode(), and keeps no gradient; make or load "
                "the model outside of it"
            )
        if weight.dtype == torch.float16 and weight.requires_grad:
            raise ValueError(
                f"{name} is float16, in which small updates are lost and squared gradients vanish; "
                "train model.float(), and let the config's precision compute in 16 bits"
            )
