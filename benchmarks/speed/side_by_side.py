"""Time ours beside theirs, in one run, as a ratio with its spread.

A busy machine makes any single time worthless; a ratio of two times taken one right after the other
survives it. Each round runs both, in turns first and second, and gives one ratio. Reported is the
median, with the quartiles as spread. Time is CPU time, of this process and of programs that it ran,
or wall time on a GPU.
"""

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from benchmarks.records import write_record

Work = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """How long ours took beside theirs.

    Attributes:
        subject: what was done, and at which size.
        peer: whose time is 1.
        aim: most that the ratio should be, or None where none was set.
        unit: what `ours` and `theirs` are in.
    """

    subject: str
    peer: str
    ratio: float
    low: float
    high: float
    ours: float
    theirs: float
    aim: float | None = None
    unit: str = "ms"

    @property
    def verdict(self) -> str:
        """Whether the aim was met; a spread that reaches it leaves the question open."""
        if self.aim is None:
            return ""
        if self.ratio <= self.aim:
            return "met"
        return "open" if self.low <= self.aim else "missed"


def compare(
    subject: str,
    peer: str,
    ours: Work,
    theirs: Work,
    *,
    aim: float | None = None,
    n_rounds: int = 9,
    device: torch.device | None = None,
) -> Ratio:
    """Run both in alternating rounds, after one round that only warms up.

    Args:
        aim: most that the ratio should be.
        n_rounds: at least so many. Short work gets up to ten times more, until the rounds took a
            second each on average: a single time of some milliseconds says little.
    """
    ours(), theirs()
    pairs: list[tuple[float, float]] = []
    while len(pairs) < n_rounds or (len(pairs) < 10 * n_rounds and sum(map(sum, pairs)) < n_rounds):
        if len(pairs) % 2:
            second = _seconds(theirs, device)
            first = _seconds(ours, device)
        else:
            first = _seconds(ours, device)
            second = _seconds(theirs, device)
        pairs.append((first, second))
    ratios = sorted(first / second for first, second in pairs)
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    own, other = (1000 * statistics.median(times) for times in zip(*pairs, strict=True))
    return Ratio(subject, peer, median, low, high, own, other, aim)


def _seconds(work: Work, device: torch.device | None) -> float:
    is_gpu = device is not None and device.type == "cuda"
    clock = time.perf_counter if is_gpu else _cpu_seconds
    if is_gpu:
        torch.cuda.synchronize()
    started = clock()
    work()
    if is_gpu:
        torch.cuda.synchronize()
    return clock() - started


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def table(ratios: Sequence[Ratio]) -> str:
    """Return the results as a Markdown table."""
    rows = [
        "| what | peer | ours / peer | spread | aim | | ours | peer's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in ratios:
        aim = "" if r.aim is None else f"≤ {r.aim:g}"
        rows.append(
            f"| {r.subject} | {r.peer} | {r.ratio:.2f} | {r.low:.2f} to {r.high:.2f} | {aim} | "
            f"{r.verdict} | {r.ours:.4g} {r.unit} | {r.theirs:.4g} {r.unit} |"
        )
    return "\n".join(rows)


def record(path: Path, ratios: Sequence[Ratio], about: dict[str, object]) -> None:
    """Write results and their provenance as JSON."""
    content = {**about, "ratios": [asdict(ratio) for ratio in ratios]}
    write_record(path, content)
