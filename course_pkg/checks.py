"""What is refused at the door, wherever the door is: one line that names the value and the rule.

Without these, torch would refuse too, but deep inside and by another name; or broadcast.
"""

import operator
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor


def whole_numbers(*, at_least: int = 1, **numbers: Any) -> None:
    """Refuse numbers that are fractions or too small.

    Raises:
        ValueError: naming the number.
    """
    for name, number in numbers.items():
        try:
            operator.index(number)  # also of an array or a tensor without axes
        except TypeError:
            rule = f"it must be a whole number, {at_least} or more"
            raise ValueError(f"{name} is {number!r}; {rule}") from None
        if number < at_least:
            raise ValueError(f"{name} is {number}; it must be at least {at_least}")


def real_number(name: str, number: Any) -> float:
    """Return a number as Python's own, whether it came from NumPy or torch.

    Raises:
        ValueError: naming what is none, such as text or None.
    """
    if isinstance(number, Tensor | np.ndarray) and number.ndim == 0:
        number = number.item()
    if not isinstance(number, Real):
        raise ValueError(f"{name} is {number!r}; it must be a number")
    return float(number)


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


def ids_of_tokens(**numbers: Any) -> None:
    """Refuse what no token's id can be.

    Args:
        numbers: ids, or lists of them, or mappings of tokens to them.

    Raises:
        ValueError: naming the id.
    """
    for name, found in numbers.items():
        if isinstance(found, Mapping):
            for token, number in found.items():
                whole_numbers(at_least=0, **{f"{name}[{token!r}]": number})
        elif isinstance(found, Sequence | np.ndarray | Tensor) and not isinstance(found, str):
            for place, number in enumerate(found):
                whole_numbers(at_least=0, **{f"{name}[{place}]": number})
        else:
            whole_numbers(at_least=0, **{name: found})


def documents_of_ids(documents: Sequence[Sequence[int]], what: str = "document") -> None:
    """Refuse what is not lists of ids: a string, say, or one list in place of several.

    Raises:
        ValueError: naming the document.
    """
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
