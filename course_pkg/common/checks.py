"""What is refused at the door, wherever the door is: one line that names the value and the rule.

Without these, torch would refuse too, but deep inside and by another name; or broadcast.
"""

import math
import operator
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def whole_numbers(*, at_least: int = 1, **numbers: Any) -> None:
    """Refuse numbers that are fractions or too small, and truth values, which would count as 1.

    Raises:
        ValueError: naming the number.
    """
    for name, number in numbers.items():
        try:
            operator.index(number)  # also of an array or a tensor without axes
            is_whole = not _is_truth_value(number)
        except TypeError:
            is_whole = False
        if not is_whole:
            rule = f"it must be a whole number, {at_least} or more"
            raise ValueError(f"{name} is {number!r}; {rule}")
        if number < at_least:
            raise ValueError(f"{name} is {number}; it must be at least {at_least}")


def real_number(name: str, number: Any) -> float:
    """Return a number as Python's own, whether it came from NumPy or torch.

    Raises:
        ValueError: naming what is none, such as text or None.
    """
    if isinstance(number, Tensor | np.ndarray) and number.ndim == 0:
        number = number.item()
    if not isinstance(number, Real) or _is_truth_value(number):
        raise ValueError(f"{name} is {number!r}; it must be a number")
    return float(number)


def _is_truth_value(number: Any) -> bool:
    """Say whether it is True or False, which Python, NumPy and torch take for 1 and 0."""
    kind = getattr(number, "dtype", type(number))
    return kind in (bool, np.bool_, torch.bool)


def not_negative(**numbers: Any) -> None:
    """Refuse numbers below 0, inf and nan.

    Raises:
        ValueError: naming the number.
    """
    for name, number in numbers.items():
        if not 0 <= real_number(name, number) < math.inf:
            raise ValueError(f"{name} is {number}; it must not be negative, and finite")


def probabilities(**numbers: Any) -> None:
    """Refuse what is no probability, nan among it.

    Raises:
        ValueError: naming the number.
    """
    for name, number in numbers.items():
        if not 0 <= real_number(name, number) <= 1:
            raise ValueError(f"{name} is {number}; it must be between 0 and 1")


def equal_shapes(**tensors: Tensor) -> None:
    """Refuse tensors of different shapes, which would broadcast, and what is no tensor.

    Raises:
        ValueError: naming the first that differs from the first of all.
    """
    (first, pattern), *others = tensors.items()
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name} is {type(tensor).__name__}; it must be a tensor")
    for name, tensor in others:
        if tensor.shape != pattern.shape:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}; it must have that of {first}, "
                f"{tuple(pattern.shape)}"
            )


def lists_of_ids(**lists: Any) -> None:
    """Refuse what is no list of ids of tokens, nor a mapping of tokens to them.

    Raises:
        ValueError: naming the list, or the id in it.
    """
    for name, found in lists.items():
        is_list = isinstance(found, Collection) or getattr(found, "ndim", 0) == 1
        if not is_list or isinstance(found, str):
            raise ValueError(f"{name} is {found!r:.40}; it must be a list of ids")
        items = found.items() if isinstance(found, Mapping) else enumerate(found)
        for place, number in items:
            whole_numbers(at_least=0, **{f"{name}[{place!r}]": number})


def check_id(name: str, token: Any, vocab_size: int) -> None:
    """Refuse an id that no token has: one that shall end a text would never do so.

    Raises:
        ValueError: naming the id.
    """
    whole_numbers(at_least=0, **{name: token})
    if token >= vocab_size:
        raise ValueError(
            f"{name} is {token}; the vocabulary has {vocab_size} tokens, 0 to {vocab_size - 1}"
        )


def flags(**values: Any) -> None:
    """Refuse what is neither True nor False: a path or a number would count as True.

    Raises:
        ValueError: naming the value.
    """
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} is {value!r:.40}; it must be True or False")


def is_model(model: Any, *kinds: type) -> None:
    """Refuse what is no model, such as its `state_dict`, or one of another class.

    Args:
        kinds: of which it must be one; any `torch.nn.Module` by default.

    Raises:
        ValueError: naming its type.
    """
    if not isinstance(model, kinds or (nn.Module,)):
        wanted = " or ".join(kind.__name__ for kind in kinds) or "torch.nn.Module"
        raise ValueError(
            f"model is {type(model).__name__}; it must be a {wanted}, such as the model of what "
            "load_model returns"
        )


def not_used_up(**lists: Any) -> None:
    """Refuse what can be read only once, such as a generator: the second time it is empty.

    Raises:
        ValueError: naming its type.
    """
    for name, found in lists.items():
        if not hasattr(found, "__len__"):
            raise ValueError(
                f"{name} is {type(found).__name__}; it must be a list, which is read several times"
            )


def documents_of_ids(documents: Sequence[Sequence[int]], what: str = "document") -> None:
    """Refuse what is not lists of ids: a string, say, or one list in place of several.

    Raises:
        ValueError: naming the document, or what can be read but once.
    """
    not_used_up(**{f"{what}s": documents})
    for number, document in enumerate(documents):
        document_of_ids(document, f"{what} {number}")


def document_of_ids(document: Sequence[int], name: str) -> None:
    """Refuse what is no list of ids.

    Raises:
        ValueError: naming the document.
    """
    is_list = hasattr(document, "__len__") and not isinstance(document, str | bytes)
    if not is_list or getattr(document, "ndim", 1) != 1:
        raise ValueError(
            f"{name} is {document!r:.20}; it must be a list of ids, as a tokenizer's encode makes "
            "of a text"
        )
