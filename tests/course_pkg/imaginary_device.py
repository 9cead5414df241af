"""A device that this machine does not have: the CPU under another name, strict about who is where.

A tensor "there" says that it is on the meta device and holds an ordinary one. As on a GPU, no
operation takes tensors from both sides (numbers, tensors without dimensions, may cross), random
numbers need a generator of their own side, and NumPy sees nothing. Unlike the meta device it
computes, so whole trainings run, and their results can be compared with those of the CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

THERE = torch.device("meta")

_aten = torch.ops.aten
_MAY_CROSS = {  # copies, and packed rows, whose lengths stay on the CPU
    _aten._to_copy.default,
    _aten.copy_.default,
    _aten._pack_padded_sequence.default,
    _aten._pack_padded_sequence_backward.default,
    _aten._pad_packed_sequence.default,
}


class MixedDevicesError(RuntimeError):
    """One operation was given tensors from both sides; a GPU would refuse it, or wait for it."""


class Remote(Tensor):
    """A tensor that is said to be on the imaginary device."""

    held: Tensor
    has_float64 = True

    @staticmethod
    def __new__(cls, held: Tensor) -> "Remote":
        if held.dtype == torch.float64 and not cls.has_float64:
            raise TypeError("Cannot convert a tensor to float64 there")
        remote = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=THERE,
        )
        remote.held = held
        return remote

    def tolist(self) -> Any:
        """Copy the values, as a device would."""
        return self.held.tolist()

    def __repr__(self) -> str:
        return f"Remote({self.held})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


@contextmanager
def imaginary_device(has_float64: bool = True) -> Iterator[torch.device]:
    """Make the device exist for a while; modules moved there keep their Parameter objects.

    Args:
        has_float64: NVIDIA's GPUs have it; Apple's refuses any tensor of it.
    """
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    Remote.has_float64 = has_float64
    try:
        with _Watch():
            yield THERE
    finally:
        Remote.has_float64 = True
        torch.__future__.set_swap_module_params_on_conversion(before)


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Check where the operands are, compute on what they hold, and wrap the results."""
    leaves = tree_leaves((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    remote = [tensor for tensor in tensors if isinstance(tensor, Remote)]
    local = [tensor for tensor in tensors if not isinstance(tensor, Remote) and tensor.dim() > 0]
    if remote and local and func not in _MAY_CROSS:
        shapes = [tuple(tensor.shape) for tensor in local]
        raise MixedDevicesError(f"{func} works on the device and is given {shapes} on the CPU")
    asked = kwargs.get("device")
    is_there = bool(remote) if asked is None else torch.device(asked) == THERE
    if func is _aten.copy_.default:
        is_there = isinstance(args[0], Remote)
    if is_there and any(isinstance(leaf, torch.Generator) for leaf in leaves):
        raise MixedDevicesError(f"{func} fills a tensor there by a generator of the CPU")
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    held_args, held_kwargs = tree_map_only(Remote, lambda tensor: tensor.held, (args, kwargs))
    result = func(*held_args, **held_kwargs)
    if remote and torch.Tag.inplace_view in func.tags:  # tell the wrapper its new shape, too
        with no_dispatch():
            func(*args, **kwargs)
        return args[0]
    if not is_there:
        return result
    if func is _aten._pack_padded_sequence.default:
        return Remote(result[0]), result[1]
    known = {id(tensor.held): tensor for tensor in remote}  # in-place: the same object comes back
    return tree_map_only(Tensor, lambda x: known[id(x)] if id(x) in known else Remote(x), result)
