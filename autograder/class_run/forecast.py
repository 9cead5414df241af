"""How long a class of any size takes, and what it costs, from what one submission was measured at.

Two things decide. Cores share the work of grading: n submissions take n times the CPU time of one.
But one process reads, records and writes the gradebook and the pages, so beyond some number
of cores it is the one that everybody waits for.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.records import GraderError

SIZES = (1_000, 100_000, 10_000_000)
CORES = (2, 16, 128)
_COUNTED_TWICE = "of it "  # begins the names of stages that are part of others
_WRITER = ("read", "record", "gradebook", "feedback")


@dataclass(frozen=True)
class Measured:
    """What a benchmark found about one set.

    Attributes:
        core_seconds: CPU time of one submission, the student's own code included. Not wall time,
            which other work on the measuring machine lengthens.
        writer_seconds: of these, what only one process can do.
    """

    core_seconds: float
    writer_seconds: float


@dataclass(frozen=True)
class Forecast:
    """What a class of one size takes.

    Attributes:
        seconds: wall time for each number of cores.
    """

    n_submissions: int
    core_hours: float
    seconds: Mapping[int, float]


def read_measured(path: Path, name: str) -> Measured:
    """Read what `benchmarks/grader/grading_throughput.py --record` has written about a set.

    Raises:
        GraderError: if the file is not of that form; says what is missing.
    """
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))[name]
        stages = record["cpu_ms_each"]
        whole = sum(ms for stage, ms in stages.items() if not stage.startswith(_COUNTED_TWICE))
        return Measured(whole / 1e3, sum(stages[stage] for stage in _WRITER) / 1e3)
    except (OSError, ValueError) as error:
        raise GraderError(f"{path} cannot be read: {error}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise GraderError(f"{path} holds no measurement of {name!r}: {error!r}") from None


def forecast(measured: Measured, n_submissions: int) -> Forecast:
    """Return what a class takes on one machine with each number of cores."""
    work = n_submissions * measured.core_seconds
    least = n_submissions * measured.writer_seconds
    return Forecast(
        n_submissions, work / 3600, {cores: max(work / cores, least) for cores in CORES}
    )
