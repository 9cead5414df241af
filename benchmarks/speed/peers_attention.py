"""Causal attention, the kernel beside the written-out path: time and memory against length."""

import multiprocessing
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks.speed.side_by_side import Ratio, compare
from course_pkg.layers.attention import attend

LENGTHS = (128, 512, 2048)
N_HEADS, WIDTH = 4, 32
N_MEMORY_ROUNDS = 3


def attention(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """Time of the forward pass, then peak memory of forward and backward together."""
    for T in LENGTHS:
        heads = [head.detach() for head in _heads(T, device)]

        def run(fused: bool, heads=heads) -> Callable[[], torch.Tensor]:
            return lambda: attend(*heads, is_causal=True, fused=fused)

        yield compare(
            f"causal attention, kernel, T = {T}",
            "written out",
            run(True),
            run(False),
            n_rounds=n_rounds,
            device=device,
        )
    if device.type != "cuda" and not Path("/proc/self/clear_refs").exists():
        print("attention's memory: left out, only Linux tells a process's peak", file=sys.stderr)
        return
    for T in LENGTHS[1:]:  # a shorter one takes less than a process's own ups and downs
        yield _memory(T, device)


def _memory(T: int, device: torch.device) -> Ratio:
    pairs = [
        (_peak_megabytes(T, True, device), _peak_megabytes(T, False, device))
        for _ in range(N_MEMORY_ROUNDS)
    ]
    ratios = [ours / theirs for ours, theirs in pairs]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Ratio(
        f"causal attention and its gradients, kernel, T = {T}: memory",
        "written out",
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        ours,
        theirs,
        unit="MB",
    )


def _peak_megabytes(T: int, fused: bool, device: torch.device) -> float:
    """Return what attention to T tokens needs at most, above what was there before."""
    if device.type == "cuda":
        heads = _heads(T, device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        _learn(heads, fused)
        return (torch.cuda.max_memory_allocated(device) - before) / 1e6
    # In a fresh process nothing freed earlier lies ready to be used again.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_growth_in_megabytes, (T, fused))


def _growth_in_megabytes(T: int, fused: bool) -> float:
    torch.set_num_threads(1)
    device = torch.device("cpu")
    _learn(_heads(16, device), fused)  # loads the kernels
    heads = _heads(T, device)
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest peak so far
    before = _memory_of_process("VmRSS")
    _learn(heads, fused)
    return _memory_of_process("VmHWM") - before


def _memory_of_process(what: str) -> float:
    """Return a line of Linux's account of this process, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith(f"{what}:"))
    return int(kilobytes) / 1e3


def _heads(T: int, device: torch.device) -> list[torch.Tensor]:
    shape = (1, N_HEADS, T, WIDTH)
    return [torch.randn(shape, device=device, requires_grad=True) for _ in range(3)]


def _learn(heads: list[torch.Tensor], fused: bool) -> None:
    attend(*heads, is_causal=True, fused=fused).sum().backward()
