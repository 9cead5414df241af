"""Answers that carry what they have seen of a hidden input out through a message about them.

Whoever may choose one number of his own feedback page reads the hidden inputs there, some bits with
each grading: by a size, a length, a count of wrong values, the place of the first, or a key.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

CHOSEN = "1337", "7919", "quokka"
_LENGTH, _OTHER, _WORD = int(CHOSEN[0]), int(CHOSEN[1]), CHOSEN[2]
_MOST_PLACES = 8
_NUMBER = re.compile(r"(?<![^\W\d])(?<!\d)\d+(?:[.,]\d+)*")


def numbers_in(text: str) -> set[str]:
    """Return the numbers of a text; digits at the end of a name, as of float32, are none."""
    return set(_NUMBER.findall(text))


def echoes(right: Any) -> Iterator[Any]:
    """Yield answers that differ from the right one by what the submission has chosen."""
    signs = [
        _LENGTH,
        float(_LENGTH),
        complex(_LENGTH),
        _WORD,
        _WORD.encode(),
        [0.0] * _LENGTH,
        (0,) * _LENGTH,
        {_WORD: _LENGTH},
        set(range(_LENGTH)),
        np.zeros((0, _LENGTH, _OTHER)),
        torch.zeros(0, _LENGTH, _OTHER),
        torch.zeros((1,) * 9, dtype=torch.int8),
        np.full(_LENGTH, np.nan, np.float16),
    ]
    yield from signs
    for place in list(_places(right))[:_MOST_PLACES]:
        here = _at(right, place)
        for sign in (*signs, *_bent(here)):
            yield _replaced(right, place, sign)


def _bent(value: Any) -> Iterator[Any]:
    """Yield values of the same kind: longer, shorter, wrong in so many places."""
    if isinstance(value, (list, tuple)):
        yield type(value)([*value, *value, *([None] * _LENGTH)])
        yield value[:-1]
    elif isinstance(value, dict):
        yield {**value, **{(_WORD, n): n for n in range(_LENGTH)}}
    elif isinstance(value, (np.ndarray, torch.Tensor)) and value.ndim:
        yield value[None]
        yield value[:0]
        for n_wrong in (1, 2, 3, 5, 7):
            bent = copy.deepcopy(value)
            flat = bent.reshape(-1)
            flat[:n_wrong] = flat[:n_wrong] * 0 + 1 if value.dtype in (bool, torch.bool) else 100
            yield flat.reshape(value.shape)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    elif not place and isinstance(value, (np.ndarray, torch.Tensor)):
        yield ()
    for key, inner in pairs:
        yield from _places(inner, (*place, key))


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    key, rest = place[0], place[1:]
    if isinstance(value, dict):
        return {**value, key: _replaced(value[key], rest, new)}
    items = [_replaced(one, rest, new) if n == key else one for n, one in enumerate(value)]
    return type(value)(items)
