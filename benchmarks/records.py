"""Where a benchmark's record goes: where nothing stands, or an earlier one of the same benchmark.

A record is a JSON object that holds the command which made it; by that it is known again.
"""

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_pkg.files import write_atomically


def benchmark_of(command: str) -> str:
    """Return which benchmark a command runs: `ladder` for `python -m benchmarks.ladder --quick`."""
    words = shlex.split(command)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "-m":
            return following.rpartition(".")[2]
        if word.endswith(".py"):
            return Path(word).stem
    return ""


def add_record_option(
    parser: argparse.ArgumentParser, benchmark: str, default: Path | None = None
) -> None:
    """Add `--record FILE`; what may not be replaced is refused before anything is measured.

    Args:
        benchmark: its name, or its own `__file__`.
        default: where the record goes unless another file is named.
    """

    def read(path: str) -> Path:
        try:
            _refuse_others(Path(path), Path(benchmark).stem)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return Path(path)

    parser.add_argument(
        "--record",
        type=read,
        default=default and str(default),  # text, so that it is looked at, too
        help="write the result and its provenance here" + (f" [{default.name}]" if default else ""),
    )


def write_record(path: Path, content: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Write a record as JSON, whole or not at all.

    Args:
        content: has the key `command`.

    Raises:
        ValueError: if something else than an earlier record of this benchmark stands there.
    """
    _refuse_others(path, benchmark_of(content["command"]))
    write_atomically(path, json.dumps(content, indent=indent, ensure_ascii=False) + "\n")


def _refuse_others(path: Path, benchmark: str) -> None:
    if not path.exists():
        return
    try:
        found = benchmark_of(json.loads(path.read_bytes())["command"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found = ""
    if found != benchmark:
        what = f"a record of the benchmark {found}" if found else "no record of a benchmark"
        raise ValueError(
            f"{path} is {what}; only an earlier record of {benchmark} is replaced. Name another "
            "file, or move this one away"
        )
