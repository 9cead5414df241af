"""Models as they are asked, not trained: without gradients, or without weights of their own yet.

Chapters: n-gram models, GPT.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


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


@contextmanager
def without_weights() -> Iterator[None]:
    """Build modules whose parameters have shapes and no numbers, which are to come from a file.

    As `torch.device("meta")`, but nothing is drawn: the first draw there would import 800 modules.
    """
    with torch.device("meta"), _NothingDrawn():
        yield


class _NothingDrawn(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)
