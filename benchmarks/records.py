"""What every benchmark begins with: its command line, and the record that it writes.

A record is a JSON object that holds the command which made it; by that it is known again. It goes
where nothing stands, or an earlier one of the same benchmark. Arms are what a benchmark compares.
"""

import argparse
import json
import platform
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
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


def command_line(
    about: str | None, benchmark: str, *, arms: Iterable[str] = ()
) -> argparse.ArgumentParser:
    """Return a parser with `--record FILE` and, where there are arms, `--only ARM`.

    Args:
        about: what the help says first.
        benchmark: the `__file__` of the one that asks.
        arms: by their names in the record.
    """
    module = Path(benchmark).resolve().relative_to(Path(__file__).resolve().parents[1])
    parser = argparse.ArgumentParser(
        prog=f"python -m {'.'.join(module.with_suffix('').parts)}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if arms := tuple(arms):
        parser.add_argument(
            "--only",
            action="append",
            choices=arms,
            metavar="ARM",
            help="leave out all other arms; may be given several times. There are: "
            + "; ".join(arms).replace("%", "%%"),
        )
    add_record_option(parser, benchmark)
    return parser


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


class Recording:
    """What a benchmark measures, written whole whenever something is added.

    Args:
        parser: of `command_line`, with the benchmark's own options.
        arguments: the command line; None means the process's own.

    Attributes:
        options: what the command line says.
        content: the record.
    """

    def __init__(
        self, parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None
    ) -> None:
        self.options = parser.parse_args(arguments)
        self.content: dict[str, Any] = {"cpu_seconds": 0}
        self._parser = parser
        given = sys.argv[1:] if arguments is None else arguments
        self._command = shlex.join([*parser.prog.split(), *map(str, given)])
        self._since = time.process_time()

    def begin(self, about: Mapping[str, Any], *, same: Mapping[str, Any] | None = None) -> None:
        """Say what is measured.

        Args:
            about: what and how.
            same: settings, weights included. What stands in the named file is gone on with if it
                was begun with the same ones, and otherwise ends the program. None: begin anew.
        """
        where = provenance(self._command, torch.device(getattr(self.options, "device", "cpu")))
        self.content = {**about, **(same or {}), **where, **self.content}
        if same is not None:
            try:
                self.content |= begun(self.options.record, same)
            except ValueError as error:
                self._parser.error(str(error))

    def missing(self, arms: Iterable[str], within: str | None = "arms") -> list[str]:
        """Return the arms that `--only` leaves and that are not recorded yet; see `keep`."""
        recorded = self.content if within is None else self.content.setdefault(within, {})
        return [arm for arm in arms if self.is_wanted(arm) and arm not in recorded]

    def is_wanted(self, arm: str) -> bool:
        """Return whether an arm is to be measured, as `--only` says."""
        only = getattr(self.options, "only", None)
        return only is None or arm in only

    def keep(self, name: str, result: Any, within: str | None = None) -> None:
        """Add a result, print it, and save the record.

        Args:
            within: the part of the record that it belongs to, as "arms"; None: the record itself.
        """
        part = self.content if within is None else self.content.setdefault(within, {})
        part[name] = result
        print(name, json.dumps(result, ensure_ascii=False), flush=True)
        self.save()

    def save(self, *, indent: int | None = 1) -> None:
        """Write what there is so far, with its CPU time, where `--record` says."""
        now = time.process_time()
        spent, self._since = self.content["cpu_seconds"] + now - self._since, now
        self.content["cpu_seconds"] = round(spent, 1)
        if self.options.record is not None:
            write_record(self.options.record, self.content, indent=indent)

    def finish(self, figures: Mapping[str, Any], *, indent: int | None = 2) -> None:
        """Add what was measured at once, and save the record."""
        self.content |= figures
        self.save(indent=indent)
        if self.options.record is not None:
            print(f"recorded in {self.options.record}")


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
            f"{path} was begun with {key} {found[key]}; it must be {_as_read(settings[key])} to go "
            "on. Remove it to begin anew"
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
