"""What a training run says of itself: one dict per entry, in memory and as lines of JSON.

Chapter: training transformers.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_pkg.training import distributed

Update = tuple[Tensor, Tensor, int | Tensor]
"""Loss, gradient norm and number of targets of one update, still on the device."""


class Log:
    """The history of a run.

    Args:
        folder: where `log.jsonl` is continued, by the main process; None for nowhere.
        full_speed: tokens a second at which the device would be fully used, if it is known.
    """

    def __init__(self, folder: Path | None, full_speed: float | None) -> None:
        self.folder, self.full_speed = folder, full_speed
        self.entries: list[dict[str, Any]] = []

    def add(self, step: int, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Note some figures after `step` updates."""
        entry = {"step": step, **figures}
        self.entries.append(entry)
        if self.folder is not None and distributed.is_main():
            with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        return entry

    def add_updates(
        self, step: int, updates: list[Update], seconds: float, lr: float
    ) -> dict[str, str]:
        """Note the means over some updates; return what of them stands behind the progress bar."""
        losses, norms, sizes = zip(*updates, strict=True)
        speed = float(sum(sizes)) / seconds
        share = {"mfu": speed / self.full_speed} if self.full_speed else {}
        entry = self.add(
            step,
            {
                "loss": torch.stack(losses).mean().item(),
                "gradient_norm": torch.stack(norms).mean().item(),
                "lr": lr,
                "tokens_per_second": round(speed, 1),
                **share,
            },
        )
        shown = {"loss": f"{entry['loss']:.3f}", "tokens/s": f"{speed:,.0f}"}
        return shown | {name: f"{part:.1%}" for name, part in share.items()}
