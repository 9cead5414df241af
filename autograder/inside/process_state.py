"""What a process has only one of, and code that is called in it may leave otherwise."""

import os
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Kind(NamedTuple):
    """One thing of which a process has only one.

    Attributes:
        name: for the sentence "the call changes ...".
        library: without which there is none of it.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    library: str = "sys"


State = dict[Kind, Any]


def read(kinds: Iterable[Kind]) -> State:
    """Read what there is of these kinds."""
    return {kind: kind.read() for kind in kinds if kind.library in sys.modules}


def only(kinds: Iterable[Kind], state: State) -> State:
    """Leave out what is of other kinds."""
    return {kind: state[kind] for kind in kinds if kind in state}


def changed(before: State) -> list[Kind]:
    """List what is another than it was."""
    return [kind for kind, value in before.items() if kind.read() != value]


def restore(before: State) -> None:
    """Put back what is another than it was."""
    for kind in changed(before):
        kind.write(before[kind])


def _torch() -> Any:
    return sys.modules["torch"]


def _filters() -> list[Any]:
    """Return the filters for all code: a library may add one of its own when it is imported."""
    return [f for f in warnings.filters if f[1] is f[3] is None and f[2].__module__ == "builtins"]


def _set_filters(filters: list[Any]) -> None:
    others = [one for one in warnings.filters if one not in _filters()]
    warnings.resetwarnings()
    warnings.filters[:] = [*others, *filters]  # type: ignore[index]


def _environment() -> dict[str, str]:
    """Leave out what torch sets for itself when it loads one of its parts."""
    return {name: text for name, text in os.environ.items() if not name.startswith("TORCH")}


def _set_environment(variables: Mapping[str, str]) -> None:
    for name in _environment().keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody has deleted it
        return ""


def _set_folder(folder: str) -> None:
    if folder:
        os.chdir(folder)


def _set_path(folders: list[str]) -> None:
    sys.path[:] = folders


def _numpy_state() -> tuple[Any, ...]:
    name, key, *rest = np.random.get_state()
    return name, np.asarray(key).tobytes(), *rest  # arrays have no equality of their own


def _set_numpy_state(state: tuple[Any, ...]) -> None:
    name, key, *rest = state
    np.random.set_state((name, np.frombuffer(key, dtype=np.uint32), *rest))


def _set_torch_state(state: bytes) -> None:
    torch = _torch()
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


QUICK = (
    Kind(
        "torch's default dtype",
        lambda: _torch().get_default_dtype(),
        lambda dtype: _torch().set_default_dtype(dtype),
        "torch",
    ),
    Kind(
        "whether torch records gradients",
        lambda: _torch().is_grad_enabled(),
        lambda is_on: _torch().set_grad_enabled(is_on),
        "torch",
    ),
    Kind(
        "torch's number of threads",
        lambda: _torch().get_num_threads(),
        lambda n: _torch().set_num_threads(n),
        "torch",
    ),
    Kind(
        "whether torch is deterministic",
        lambda: _torch().are_deterministic_algorithms_enabled(),
        lambda is_on: _torch().use_deterministic_algorithms(is_on),
        "torch",
    ),
    Kind("the filters of warnings", _filters, _set_filters),
    Kind("the working directory", _folder, _set_folder),
    Kind("Python's recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Kind("where Python looks for modules", lambda: list(sys.path), _set_path),
)
"""Settings that are read in a microsecond."""
SLOW = (
    Kind("how NumPy treats errors", np.geterr, lambda how: np.seterr(**how)),
    Kind("the environment", _environment, _set_environment),
)
SETTINGS = (*QUICK, *SLOW)
GENERATORS = (
    Kind("the state of Python's generator", random.getstate, random.setstate),
    Kind("the state of NumPy's generator", _numpy_state, _set_numpy_state),
    Kind(
        "the state of torch's generator",
        lambda: bytes(_torch().get_rng_state().numpy()),
        _set_torch_state,
        "torch",
    ),
)
NAMES = tuple(kind.name for kind in (*SETTINGS, *GENERATORS))
