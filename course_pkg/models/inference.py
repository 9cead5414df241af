"""Models as they are asked, not trained. Chapter: n-gram models."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def inference(model: object) -> Iterator[torch.device]:
    """Switch dropout and gradients off for a while, and leave the model in the mode it had.

    Yields:
        the device that the model is on; the CPU if it is no `torch.nn.Module`.
    """
    with torch.no_grad():
        if not isinstance(model, nn.Module):
            yield torch.device("cpu")
            return
        was_training = model.training
        model.eval()
        try:
            yield next(model.parameters(), torch.empty(0)).device
        finally:
            model.train(was_training)
