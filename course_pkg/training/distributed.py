"""Data parallelism: each process trains on its own batches, and all take the same step.

Started by `torchrun --nproc-per-node N`, every process holds the whole model; after each backward
pass PyTorch's DistributedDataParallel averages the gradients. In a single process every function
here does nothing, so the training loop is written once.
Chapter: training transformers. Li et al. 2020.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@contextmanager
def process_group(device: str | torch.device) -> Iterator[torch.device]:
    """Join the processes that `torchrun` started; alone, just return the device.

    Args:
        device: "cpu", or "cuda": each process of a machine gets a GPU of its own. Alone, "mps" too.

    Raises:
        ValueError: if several processes are to share Apple's GPU; torch cannot join them.
    """
    if "RANK" not in os.environ:
        yield torch.device(device)
        return
    own = torch.device(device)
    if own.type == "mps":
        raise ValueError(
            "device is 'mps', where processes cannot exchange gradients; train in one process, or "
            "with --device cpu"
        )
    if own.type == "cuda":
        own = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(own)
    dist.init_process_group("nccl" if own.type == "cuda" else "gloo")
    try:
        yield own
    finally:
        dist.destroy_process_group()


def n_processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def process_number() -> int:
    """Return this process's number, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_main() -> bool:
    """Return whether this process writes the log and the checkpoints."""
    return process_number() == 0


def data_parallel(model: nn.Module) -> nn.Module:
    """Wrap a model so that its backward pass averages gradients over the processes."""
    return DistributedDataParallel(model) if n_processes() > 1 else model


def no_exchange(model: nn.Module) -> AbstractContextManager[None]:
    """Keep gradients to this process: for all but the last batch of an update.

    Not those of a sharded model: to keep them whole until the last batch would undo the sharding.
    """
    if isinstance(model, DistributedDataParallel):
        return model.no_sync()
    return nullcontext()


def sum_over_processes(numbers: Sequence[int], device: torch.device) -> Sequence[int] | Tensor:
    """Add up whole numbers over the processes; of several, in float64 on the device.

    They stay there: to read them, the CPU would have to wait for the GPU at every update.
    """
    if n_processes() == 1:
        return numbers
    return sum_tensor_over_processes(torch.tensor(numbers, dtype=torch.float64, device=device))


def any_of_processes(flags: Sequence[bool], device: torch.device) -> list[bool]:
    """Say for each flag whether some process has raised it; all must call this, and agree then."""
    if n_processes() == 1:
        return list(flags)
    raised = torch.tensor([float(flag) for flag in flags], device=device)
    return [number > 0 for number in sum_tensor_over_processes(raised).tolist()]


def sum_tensor_over_processes(tensor: Tensor) -> Tensor:
    """Add up a tensor over the processes, in place."""
    if n_processes() > 1:
        dist.all_reduce(tensor)
    return tensor


def is_divided(tensor: Any) -> bool:
    """Return whether each process holds only a part of a tensor: a `DTensor`, see `sharding`."""
    return hasattr(tensor, "full_tensor")  # the class itself takes long to import


def own_part(tensor: Tensor) -> Tensor:
    """Return the part that this process holds, or the tensor if it is not divided; no copy."""
    return tensor.to_local() if is_divided(tensor) else tensor  # type: ignore[attr-defined]


def part_like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """Divide a whole tensor, which every process has, as `pattern` is divided."""
    if not is_divided(pattern):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    # Every process has it, so none needs to send anything.
    mesh, placements = pattern.device_mesh, pattern.placements  # type: ignore[attr-defined]
    return distribute_tensor(tensor, mesh, placements, src_data_rank=None)


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor with the parts of all processes, which must all call this.

    Not by `full_tensor`, which gathers in the background: on CPUs a process has crashed in a thread
    of gloo's meanwhile (torch 2.13, once in about 200 short runs).
    """
    if not is_divided(tensor):
        return tensor
    own, n_rows = own_part(tensor), tensor.shape[0]
    # Rows are divided as by `torch.chunk`: the last parts may be shorter, or empty.
    padded = own.new_zeros(-(-n_rows // n_processes()), *tensor.shape[1:])
    padded[: own.shape[0]] = own
    return join_tensors(padded)[:n_rows]


def join_tensors(tensor: Tensor) -> Tensor:
    """Return the tensors of all processes, of one shape, one after the other."""
    if n_processes() == 1:
        return tensor
    tensors = [torch.empty_like(tensor) for _ in range(n_processes())]
    dist.all_gather(tensors, tensor)
    return torch.cat(tensors)


def gather(value: Any) -> list[Any]:
    """Return the value of every process, in order of their numbers."""
    if n_processes() == 1:
        return [value]
    values: list[Any] = [None] * n_processes()
    dist.all_gather_object(values, value)
    return values


def wait_for_all() -> None:
    """Return when every process has come here."""
    if n_processes() > 1:
        dist.barrier()
