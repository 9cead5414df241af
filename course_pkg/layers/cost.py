"""What a layer costs, measured by running it: time, memory, multiplications, steps in series.

Time depends on the machine. The other three do not: they are read off the computation itself, so
that a formula such as T^2 D + T D^2 can be checked number by number.

Chapter: self-attention. Vaswani et al. 2017, table 1.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode


@dataclass(frozen=True)
class LayerCost:
    """What one pass over one input costs.

    Attributes:
        seconds: of the forward pass alone, the best of several.
        saved_bytes: what the forward pass keeps for the backward pass, weights included once.
        n_multiplications: in products of matrices.
        n_serial_steps: the longest chain of operations of which each needs the one before; no
            number of processors makes it shorter. Counted on autograd's graph: a reshape counts as
            one operation, and so does a fused kernel.
    """

    seconds: float
    saved_bytes: int
    n_multiplications: int
    n_serial_steps: int


def layer_cost(layer: Callable[[Tensor], Tensor], x: Tensor, *, n_repeats: int = 3) -> LayerCost:
    """Run a layer on an input and say what it cost.

    Args:
        layer: from x to a tensor that autograd can follow back.
        n_repeats: timed passes, of which the fastest counts: it was the least disturbed.

    Raises:
        ValueError: fewer than one repeat, or an output that does not depend on x or on weights.

    Example:
        >>> layer_cost(lambda x: x @ torch.ones(3, 5), torch.ones(2, 3)).n_multiplications
        30
    """
    if n_repeats < 1:
        raise ValueError(f"n_repeats is {n_repeats}; it must be at least 1")
    x = x.detach().requires_grad_()
    saved: dict[int, int] = {}  # memory that several tensors share counts once

    def keep(tensor: Tensor) -> Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor), FlopCounterMode(display=False) as flops:
        out = layer(x)
    n_serial_steps = longest_chain(out)
    del out
    # With a single thread, its own clock: it stands still while other programs have the core.
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    seconds = []
    with torch.no_grad():
        for _ in range(n_repeats):
            started = clock()
            layer(x)
            seconds.append(clock() - started)
    return LayerCost(
        min(seconds), sum(saved.values()), flops.get_total_flops() // 2, n_serial_steps
    )


def longest_chain(out: Tensor) -> int:
    """Count the operations on the longest way from a result back to what it was computed from.

    Raises:
        ValueError: nothing that the result was computed from asks for a gradient.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> longest_chain((x * x).exp() + x)  # multiply, exp, add
        3
    """
    if out.grad_fn is None:
        raise ValueError("out has no grad_fn; compute it from a tensor that requires a gradient")
    depth: dict[object, int] = {}
    todo = [out.grad_fn]
    while todo:  # not recursive: a recurrent network's chain is longer than Python's stack
        node = todo[-1]
        # Leaves, where gradients are collected, are no operations.
        before = [n for n, _ in node.next_functions if n is not None and n.next_functions]
        missing = [n for n in before if n not in depth]
        if missing:
            todo += missing
        else:
            depth[todo.pop()] = 1 + max((depth[n] for n in before), default=0)
    return depth[out.grad_fn]
