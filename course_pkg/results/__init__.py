"""The figures that the chapters of the book have measured, kept so that any page can show them.

Each chapter has a file of rows here, one JSON object a line (`Result`). It
computes its rows anew whenever it is built, and the build fails if they no longer agree; with the
environment variable COURSE_RECORD set, the new figures are written instead. What takes longer than
a page may, a script of `benchmarks/` has measured and recorded in the folder of that name here.
"""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_pkg.results.table import (
    COMPUTED,
    RECORDED,
    Result,
    StorySoFar,
    append_result,
    read_results,
    story_so_far,
)

__all__ = [
    "COMPUTED",
    "RECORD",
    "RECORDED",
    "Result",
    "StorySoFar",
    "append_result",
    "benchmark",
    "read_results",
    "record",
    "recorded",
    "story_so_far",
]

RECORD = "COURSE_RECORD"
"""Environment variable: set it to replace what is recorded by what is computed now."""

_FOLDER = Path(__file__).parent


def recorded(slug: str, folder: Path = _FOLDER) -> Path:
    """Return the file with the rows of a chapter; it need not exist yet."""
    return folder / f"{slug}.jsonl"


def benchmark(name: str, folder: Path = _FOLDER) -> dict[str, Any]:
    """Return what the benchmark of this name has measured, with machine, date and command.

    Raises:
        FileNotFoundError: no such record; the message lists those there are.
    """
    path = folder / "benchmarks" / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
        raise FileNotFoundError(f"no benchmark {name!r} is recorded; there are: {there}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def record(
    results: Sequence[Result],
    *,
    tolerance: float = 0.01,
    negligible: float = 0.0,
    folder: Path = _FOLDER,
) -> None:
    """Check the rows of one chapter against those recorded, or record them.

    Args:
        results: all rows of a chapter, computed now.
        tolerance: largest relative difference of a perplexity or of bits per byte.
        negligible: difference that is let through whatever its share: bits per byte may be near 0.
        folder: where the files are.

    Raises:
        ValueError: rows of several chapters, rows that differ from those recorded, or a row that
            is only on one side.
    """
    slugs = {result.chapter for result in results}
    if len(slugs) != 1:
        raise ValueError(f"results are of the chapters {sorted(slugs)}; record one at a time")
    path = recorded(slugs.pop(), folder)
    if os.environ.get(RECORD):
        path.unlink(missing_ok=True)
        for result in results:
            append_result(path, result)
        return
    then = {row.key: row for row in read_results(path)} if path.exists() else {}
    now = {row.key: row for row in results}
    if then.keys() != now.keys():
        keys = sorted(then.keys() ^ now.keys())
        raise ValueError(f"{path.name} and results differ in the rows {keys}; set {RECORD}=1")
    for key, row in now.items():
        for name in ("perplexity", "bits_per_byte"):
            new, old = getattr(row, name), getattr(then[key], name)
            if new != old and (
                None in (new, old)
                or not math.isclose(new, old, rel_tol=tolerance, abs_tol=negligible)
            ):
                raise ValueError(f"{name} of {key} is {new}; recorded is {old}; set {RECORD}=1")
