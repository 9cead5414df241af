"""Print ours beside what was published, with the source, and record it with its provenance.

A published figure is only worth quoting with the data and the protocol it was measured on; both are
part of the source's text here. The aim is what this project set itself, if anything.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch

from benchmarks import records
from course_pkg.text.corpora.sources import SourceUnavailableError


@dataclass(frozen=True)
class Figure:
    """One line of a table: what ours reached, and what others did.

    Attributes:
        subject: the model, and what sets it apart from its neighbours.
        ours: None where only the published figure exists.
        published: None where nobody published this one.
        source: who published it, and on what if not exactly on this.
        aim: what ours should reach, or None where no aim was set.
    """

    subject: str
    ours: float | None
    published: float | None = None
    source: str = ""
    aim: float | None = None


def table(figures: Sequence[Figure], *, is_higher_better: bool, n_digits: int = 2) -> str:
    """Return the figures as a Markdown table; an aim is shown with whether it was met."""
    sign = "≥" if is_higher_better else "≤"

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.{n_digits}f}"

    def aim(figure: Figure) -> str:
        if figure.aim is None:
            return ""
        if figure.ours is None:
            return f"{sign} {figure.aim:g}"
        met = figure.ours >= figure.aim if is_higher_better else figure.ours <= figure.aim
        return f"{sign} {figure.aim:g}: {'met' if met else 'missed'}"

    rows = ["| model | ours | published | aim | source |", "|---|--:|--:|---|---|"]
    rows += [
        f"| {f.subject} | {cell(f.ours)} | {cell(f.published)} | {aim(f)} | {f.source} |"
        for f in figures
    ]
    return "\n".join(rows)


class Clock:
    """Seconds of work: this process's CPU time, or wall time where a GPU works beside it."""

    def __init__(self, device: str) -> None:
        self._is_gpu = device.startswith("cuda")
        self.unit = "wall seconds" if self._is_gpu else "CPU seconds"
        self._started = self._now()

    def _now(self) -> float:
        return time.perf_counter() if self._is_gpu else time.process_time()

    def seconds(self) -> float:
        """Return the seconds since the clock was made."""
        if self._is_gpu:
            torch.cuda.synchronize()
        return self._now() - self._started


def command_line(about: str | None, benchmark: str) -> argparse.ArgumentParser:
    """Return a parser with the options that these benchmarks share.

    Args:
        about: what the help says first.
        benchmark: the `__file__` of the one that asks.
    """
    parser = records.command_line(about, benchmark)
    parser.add_argument("--device", default="cpu", help="cpu or cuda [cpu]")
    return parser


@contextmanager
def or_exit() -> Any:
    """Turn missing data into one line that says what is missing, not a traceback."""
    try:
        yield
    except SourceUnavailableError as error:
        sys.exit(f"Not run: {error}")


def report(
    figures: Sequence[Figure],
    what: str,
    *,
    is_higher_better: bool,
    module: str,
    options: argparse.Namespace,
    arguments: Sequence[str] | None,
    details: dict[str, Any],
    n_digits: int = 2,
    show: Callable[[str], object] = print,
) -> None:
    """Print the table and, if `options.record` says so, write it with its provenance.

    Args:
        figures: the lines of the table.
        what: the quantity, the data and the protocol, in one sentence.
        is_higher_better: whether more is better, as for BLEU.
        module: of the benchmark, as in `python -m`.
        options: what the command line said: `record` and `device`.
        arguments: the command line itself; None means the process's own.
        details: everything else that belongs in the record.
        n_digits: after the point, in the table.
        show: prints.
    """
    lines = table(figures, is_higher_better=is_higher_better, n_digits=n_digits)
    show(f"{what}\n\n{lines}")
    if options.record is None:
        return
    given = sys.argv[1:] if arguments is None else arguments
    content = {
        **records.provenance(
            shlex.join(["python", "-m", module, *map(str, given)]), torch.device(options.device)
        ),
        "what": what,
        "figures": [asdict(figure) for figure in figures],
        **details,
    }
    records.write_record(options.record, content)
    show(f"recorded in {options.record}")
