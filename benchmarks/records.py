"""Where a benchmark's record goes: where nothing stands, or an earlier one of the same benchmark.

A record is a JSON object that holds the command which made it; by that it is known again.
"""

import argparse
import json
import platform
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from course_pkg.common.files import write_atomically


def benchmark_of(command: str) -> str:
    """Return the benchmark of a command: `ladder` for `python -m benchmarks.chapters.ladder`."""
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


def provenance(command: str, device: torch.device) -> dict[str, object]:
    """Return where and with what a result was measured."""
    # torch itself also says which build it is; its package may not.
    versions: dict[str, str | None] = {"torch": torch.__version__}
    for package in ("transformers", "tokenizers", "tiktoken", "nltk", "numpy"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    on = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{on}, {torch.get_num_threads()} thread(s)",
        "python": platform.python_version(),
        "versions": versions,
    }


def begun(path: Path | None, settings: Mapping[str, object]) -> dict[str, Any]:
    """Return a record to go on with; an empty one if there is no file.

    Args:
        settings: what the record must have been begun with, weights included, by its keys.

    Raises:
        ValueError: the file is no record, or was begun with another setting.
    """
    if path is None or not path.exists():
        return {}
    try:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
        other = [key for key, value in settings.items() if found[key] != _as_read(value)]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a record of this benchmark: {error!r}") from error
    for key in other:
        raise ValueError(
            f"{path} was begun with {key} {found[key]}; it must be {settings[key]} to go on. "
            "Remove it to begin anew"
        )
    return found


def _as_read(value: object) -> Any:
    """A value as JSON gives it back: tuples as lists, keys as text."""
    return json.loads(json.dumps(value))


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
