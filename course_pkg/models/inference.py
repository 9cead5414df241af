"""Models as they are asked, not trained. Chapter: n-gram models."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def inference(model: object) -> Iterator[torch.device]:
    """Switch dropout and gradients off for a while; then each part has the mode again that it had.

    Parts of a model may differ: a frozen one is never in training.

    Yields:
        the device that the model is on; the CPU if it is no `torch.nn.Module`.
    """
    with torch.no_grad():
        if not isinstance(model, nn.Module):
            yield torch.device("cpu")
            return
        modes = [(module, module.training) for module in model.modules()]
        model.eval()
        try:
            yield next(model.parameters(), torch.empty(0)).device
        finally:
            for module, was_training in modes:
                module.training = was_training  # `train` would set all parts below as well
