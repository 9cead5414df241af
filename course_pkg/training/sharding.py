"""Sharded data parallelism: no process holds the whole model, yet all train it.

Each of P processes keeps 1/P of every parameter, of its gradient and of its optimizer state. Before
a block runs, the processes gather its parameters; right after, they drop the others' parts again.
The backward pass gathers once more and hands each process the sum of its part of the gradient. The
update is then a matter of each process alone, and equals the one of plain data parallelism.

PyTorch's `fully_shard` does all of this; a tensor divided in this way is a `DTensor`. Checkpoints
hold whole tensors, so a run may stop sharded and go on whole, or the other way round.
Chapter: training transformers. Rajbhandari et al. 2020, stage 3; Zhao et al. 2023.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_pkg.layers.blocks import Block
from course_pkg.training import distributed
from course_pkg.training.settings import TrainerConfig


def shard(
    model: nn.Module, device: torch.device, *, precision: str = "float32", compile: bool = False
) -> None:
    """Divide a model among the processes, in place: block by block, then what lies around them.

    Args:
        model: on the CPU, with the same weights in every process. At most one block at a time is
            whole on the device, so that a model can be trained that does not fit there.
        device: where the parts go.
        precision: that blocks are gathered and multiplied in; parts and sums stay float32.
        compile: compile each block. The whole model cannot be: gathering happens in between.

    Raises:
        ValueError: if this process is alone, or the processes' weights differ.
    """
    # Here, not above: the import takes half as long as that of torch, and most runs do not shard.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if not dist.is_initialized():
        raise ValueError("shard is True, but this process is alone; start several by torchrun")
    sums = distributed.gather([float(weight.detach().sum()) for weight in model.parameters()])
    if any(other != sums[0] for other in sums):
        raise ValueError("the processes' weights differ; build the model from the same seed in all")
    # Cast while they are gathered: autocast would keep its own copy of every block until the end
    # of the backward pass, and undo the saving.
    low = None if precision == "float32" else getattr(torch, precision)
    policy = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=low and torch.float32)
    mesh = init_device_mesh(device.type, (distributed.n_processes(),))
    for block in [module for module in model.modules() if isinstance(module, Block)]:
        if compile:
            block.forward = torch.compile(block.forward)  # type: ignore[method-assign]
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def place(
    model: nn.Module, device: torch.device, config: TrainerConfig, *, is_sharded: bool
) -> nn.Module:
    """Put a model onto the device, whole or in parts; return what computes its loss."""
    if is_sharded:
        shard(model, device, precision=config.precision, compile=config.compile)
        return model
    forward: nn.Module = model.to(device)
    if config.compile:
        forward = torch.compile(forward)  # type: ignore[assignment]
    return distributed.data_parallel(forward)


@contextmanager
def outside_of_forward(model: nn.Module) -> Iterator[None]:
    """Let methods other than `forward`, such as those that generate text, be called.

    Blocks gather themselves whenever they run; embeddings do so only when the model is called.
    """
    if not _is_sharded(model):
        yield
        return
    model.unshard()  # type: ignore[operator]
    try:
        yield
    finally:
        model.reshard()  # type: ignore[operator]


def whole_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's `state_dict` in whole tensors; a sharded model's to the main process only.

    Sharded weights are gathered one by one and put into the CPU's memory; the other processes must
    call this too and get an empty dictionary.
    """
    if not _is_sharded(model):
        return model.state_dict()
    gathered: dict[int, Tensor | None] = {}  # a tied weight has two names and is gathered once
    weights = model.state_dict(keep_vars=True)
    for weight in weights.values():
        if id(weight) not in gathered:
            gathered[id(weight)] = _kept_by_main(weight.detach())
    named = ((name, gathered[id(weight)]) for name, weight in weights.items())
    return {name: weight for name, weight in named if weight is not None}


def whole_optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return an optimizer's `state_dict` in whole tensors, which only the main process keeps."""
    state = optimizer.state_dict()
    return state | {
        "state": {
            number: {name: _kept_by_main(value) for name, value in values.items()}
            for number, values in state["state"].items()
        }
    }


def parts_of_weights(weights: Mapping[str, Tensor], model: nn.Module) -> dict[str, Tensor]:
    """Divide whole weights as a model's are divided; those that it lacks stay as they are."""
    own = model.state_dict()
    return {name: _part_like(weight, own.get(name)) for name, weight in weights.items()}


def parts_of_optimizer_state(
    state: Mapping[str, Any], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Divide what `whole_optimizer_state` returned as an optimizer's parameters are divided."""
    params = [weight for group in optimizer.param_groups for weight in group["params"]]
    return dict(state) | {
        "state": {
            number: {name: _part_like(value, params[number]) for name, value in values.items()}
            for number, values in state["state"].items()
        }
    }


def _is_sharded(model: nn.Module) -> bool:
    return hasattr(model, "unshard")


def _kept_by_main(value: Any) -> Any:
    """Gather a divided tensor, which takes all processes; leave anything else as it is."""
    if not distributed.is_divided(value):
        return value
    in_one_piece = distributed.whole(value)
    return in_one_piece.cpu() if distributed.is_main() else None


def _part_like(value: Any, pattern: Tensor | None) -> Any:
    """This process's part of a tensor, if `pattern` is divided and of its shape."""
    if pattern is None or not distributed.is_divided(pattern) or not isinstance(value, Tensor):
        return value
    if value.shape != pattern.shape:  # such as the number of steps; or another model's weight
        return value
    return distributed.part_like(value, pattern)
