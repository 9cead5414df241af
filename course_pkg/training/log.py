"""What a training run says of itself: one dict per entry, in memory and as lines of JSON.

A run that goes back after a spike says so in an entry with "event", and what came before it stays.
One that goes on after an interruption repeats the updates since its checkpoint; each stands once.
Each line is JSON for any program: a figure that is not finite stands as "NaN" or "Infinity", and
`read_log` makes a number of it.
Chapter: training transformers.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_pkg.common.files import NOT_FINITE, as_json, path_of, write_atomically
from course_pkg.training import distributed

LOG_FILE = "log.jsonl"

OWN_NAMES = ("step", "event", "loss", "gradient_norm", "lr", "tokens_per_second", "mfu")
"""What entries of updates are called by; what an evaluation returns must have other names."""


class Update(NamedTuple):
    """What one update was like, still on the device.

    Attributes:
        loss: the mean over the targets of all processes, before the step.
        gradient_norm: of all gradients together, before they were clipped.
        n_read: ids that all processes read.
    """

    loss: Tensor
    gradient_norm: Tensor
    n_read: float | Tensor


class Log:
    """The history of a run.

    Args:
        folder: where `log.jsonl` is continued, by the main process; None for nowhere.
        full_speed: tokens a second at which the device would be fully used, if it is known.
    """

    def __init__(self, folder: Path | None, full_speed: float | None) -> None:
        self.folder, self.full_speed = folder, full_speed
        self.entries: list[dict[str, Any]] = []

    def go_on(self, step: int) -> None:
        """Take up what earlier sessions wrote, without the updates after `step`: they come again.

        Raises:
            OSError: if the file cannot be written.
        """
        if self.folder is None:
            return
        earlier = read_log(self.folder)
        self.entries = _up_to(step, earlier)
        if len(self.entries) < len(earlier) and distributed.is_main():
            lines = (as_json(entry) + "\n" for entry in self.entries)
            write_atomically(self.folder / LOG_FILE, "".join(lines))

    def has_earlier(self) -> bool:
        """Say whether another run has left entries in the folder."""
        return self.folder is not None and bool(read_log(self.folder))

    def add(self, step: int, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Note some figures after `step` updates.

        Raises:
            ValueError: if a figure is no number and no text.
            OSError: if the file cannot be written; the message names it.
        """
        entry = {"step": step, **{name: _plain(name, value) for name, value in figures.items()}}
        self.entries.append(entry)
        if self.folder is not None and distributed.is_main():
            path = self.folder / LOG_FILE
            try:
                with path.open("ab+") as file:
                    # Where a session was killed as it wrote, half a line may stand at the end.
                    is_cut_off = file.tell() > 0 and file.seek(-1, 2) and file.read(1) != b"\n"
                    file.write(b"\n" * is_cut_off + as_json(entry).encode() + b"\n")
            except OSError as error:
                raise OSError(f"{path} could not be written: {error}") from error
        return entry

    def add_updates(
        self, step: int, updates: Sequence[Update], seconds: float, lr: float
    ) -> dict[str, str]:
        """Note the means over some updates; return what of them stands behind the progress bar."""
        losses, norms, n_read = zip(*updates, strict=True)
        speed = float(sum(n_read)) / seconds
        share = {"mfu": speed / self.full_speed} if self.full_speed else {}
        # With float16 a gradient may overflow: the update was then left out.
        taken = [norm for norm in torch.stack(norms).tolist() if math.isfinite(norm)]
        entry = self.add(
            step,
            {
                "loss": torch.stack(losses).mean().item(),
                "gradient_norm": sum(taken) / len(taken) if taken else None,
                "lr": lr,
                "tokens_per_second": round(speed, 1),
                **share,
            },
        )
        shown = {"loss": f"{entry['loss']:.3f}", "tokens/s": f"{speed:,.0f}"}
        return shown | {name: f"{part:.1%}" for name, part in share.items()}

    def is_evaluated(self, step: int) -> bool:
        """Say whether a model of so many updates was evaluated."""
        last = (entry for entry in without_detours(self.entries) if entry["step"] == step)
        return any(not entry.keys() & {"loss", "event"} for entry in last)


def read_log(folder: str | Path) -> list[dict[str, Any]]:
    """Return the entries in a run's folder, oldest first, without a line that was cut off."""
    path = path_of(folder) / LOG_FILE
    entries = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # the session was killed while it wrote this
            continue
        if isinstance(entry, dict) and "step" in entry:
            entries.append({name: _number(value) for name, value in entry.items()})
    return entries


def _number(value: Any) -> Any:
    return NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _up_to(step: int, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out figures that were noted after a step; what was gone back behind earlier stays."""
    end = max((n for n, entry in enumerate(entries, 1) if entry["step"] <= step), default=0)
    return entries[:end] + [entry for entry in entries[end:] if "event" in entry]


def check_names(figures: Mapping[str, Any]) -> None:
    """Refuse figures of an evaluation that the log would take for those of updates.

    Raises:
        ValueError: naming the figure.
    """
    for name in figures:
        if not isinstance(name, str):
            raise ValueError(f"evaluate returned a figure called {name!r}; a name must be text")
        if name in OWN_NAMES:
            raise ValueError(
                f"evaluate returned {name!r}, which the log itself notes of each update; choose "
                f"another name, such as 'valid_{name}'"
            )


def without_detours(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what a run noted of updates behind which it went back later, and all events."""
    kept: list[dict[str, Any]] = []
    for entry in entries:
        if "event" in entry:
            kept = [earlier for earlier in kept if earlier["step"] <= entry["step"]]
        else:
            kept.append(dict(entry))
    return kept


def _plain(name: str, value: Any) -> float | str | None:
    """Return a figure as JSON has it; a number of NumPy's or torch's may be one."""
    if value is None or isinstance(value, int | float | str):
        return value
    try:
        number: float = value.item()
    except (AttributeError, RuntimeError, ValueError):
        raise ValueError(
            f"{name} is {type(value).__name__}; the log takes numbers and text, such as "
            "float(value.mean())"
        ) from None
    return number
