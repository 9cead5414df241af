"""Where models compute: which device there is, chosen here and nowhere else.

`auto` takes an NVIDIA GPU (`cuda`) before Apple's (`mps`), and either before the CPU. Three things
do not exist on Apple's: float64, so that log-probabilities are summed on the CPU; training in
several processes; and `torch.compile`, which is never chosen there.
"""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

DEVICES = ("auto", "cpu", "cuda", "mps")
"""What a command line may name; `cuda` may have a number, as in "cuda:1"."""

_ABSENT = {"cuda": "no NVIDIA GPU", "mps": "no Apple GPU"}


def choose_device(name: str = "auto") -> torch.device:
    """Return a device by name, or the fastest that this machine has.

    Raises:
        ValueError: if there is no device of this name, or not here.

    Example:
        >>> choose_device("cpu")
        device(type='cpu')
    """
    if not isinstance(name, str):
        raise ValueError(f"device is {name!r}; it must be text, one of {', '.join(DEVICES)}")
    if name == "auto":
        present = (kind for kind in ("cuda", "mps") if _is_present(kind))
        return torch.device(next(present, "cpu"))
    kind, colon, number = name.partition(":")
    if kind not in DEVICES[1:] or (colon and not number.isdecimal()):
        raise ValueError(f"device is {name!r}; it must be one of {', '.join(DEVICES)}")
    if kind in _ABSENT and not _is_present(kind):
        raise ValueError(
            f"device is {name!r}, but torch finds {_ABSENT[kind]} here; use auto or cpu"
        )
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        there = f"0 to {torch.cuda.device_count() - 1}"
        raise ValueError(f"device is {name!r}; the GPUs that torch finds here are {there}")
    return torch.device(name)


def usable_device(name: torch.device | str) -> torch.device:
    """Return a device after trying it out; unlike `choose_device` this takes any that torch knows.

    Raises:
        ValueError: if there is none of this name, or torch cannot compute on it here.
    """
    if not isinstance(name, str | torch.device):
        raise ValueError(f"device is {name!r}; it must be a name such as cpu, or a torch.device")
    kind = str(name).partition(":")[0]
    if isinstance(name, str) or kind in DEVICES:
        name = choose_device(str(name))
    try:
        torch.zeros(1, device=name).add(1).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f"device is {str(name)!r}, on which torch cannot compute here: {reason}"
        ) from error
    return name


def describe_device(device: torch.device) -> str:
    """Return what to call a device in a log: a GPU's name, or the processor's architecture."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return {"mps": "Apple GPU", "cpu": f"CPU ({platform.machine()})"}.get(device.type, str(device))


def available_memory() -> int | None:
    """Return how many bytes programs may still take here without swapping; None if unknown.

    Linux says so, for the machine and for a container's share of it.
    """
    found = []
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            found.append(1024 * int(line.split()[1]))
    most, used = (_lines(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if most and used and most[0].isdecimal():
        found.append(int(most[0]) - int(used[0]))
    return min(found, default=None)


def return_freed_memory() -> None:
    """Give what was freed back to the system, where the C library can: Linux's usual one.

    It keeps the gaps that large intermediate results leave between arrays that stay.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []


def rng_state(device: torch.device) -> Tensor | None:
    """Return where a GPU's random numbers stand; None for the CPU, which torch keeps apart."""
    if device.type == "cuda":
        return torch.cuda.get_rng_state(device)
    return torch.mps.get_rng_state() if device.type == "mps" else None


def set_rng_state(device: torch.device, state: Tensor | None) -> None:
    """Let a GPU's random numbers go on from a state; None, from another device, changes nothing."""
    if state is None:
        return
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif device.type == "mps":
        torch.mps.set_rng_state(state)


@contextmanager
def kept_rng(device: torch.device) -> Iterator[None]:
    """Let torch's random numbers, on the CPU and on a device, go on afterwards as they stood."""
    on_cpu, on_device = torch.get_rng_state(), rng_state(device)
    try:
        yield
    finally:
        torch.set_rng_state(on_cpu)
        set_rng_state(device, on_device)


def _is_present(kind: str) -> bool:
    if kind == "mps":
        return torch.backends.mps.is_available()
    return torch.cuda.is_available()
