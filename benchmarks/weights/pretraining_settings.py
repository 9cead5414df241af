"""How fast a GPT of the course's size learns on this machine, and by which settings.

    COURSE_DATA=DIR python -m benchmarks.weights.pretraining_settings --out DIR

Short runs, each with its own fall of the rate, so that they can be compared: bits per byte on the
held-out texts after equally many tokens. They say which settings are worse at the start, not which
are best after a hundred times as many tokens. CPU time, since a machine may be shared.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.records import add_record_option, provenance, write_record
from benchmarks.weights.pretraining import ROOT, Settings, read_curve, settings_of, train
from course_pkg.training.lock import only_process
from course_pkg.training.trainer import Trainer
from course_pkg.weights.model_folders import build_model

RECORD = ROOT / "course_pkg" / "results" / "benchmarks" / "pretraining_settings.json"
SHORT = {"n_updates": 80, "n_decay": 30, "n_warmup": 20, "evaluate_every": 80, "log_every": 10}
VARIANTS: dict[str, dict[str, Any]] = {
    "as trained": {},
    "8,192 tokens, 5 layers": {"vocab_size": 8192, "n_layers": 5, "d_ff": 640},
    "twice the rate": {"lr": 4e-3},
}
"""All of about 5.8 million parameters: what fits 12 MB in half precision."""


class _SameBatch:
    """Random tokens: how fast an update is does not depend on the text."""

    def __init__(self, settings: Settings) -> None:
        shape = (settings.batch_size, settings.context_length + 1)
        ids = torch.randint(settings.vocab_size, shape, generator=torch.Generator().manual_seed(0))
        self.batch = {"ids": ids[:, :-1], "targets": ids[:, 1:]}

    def next_batch(self) -> dict[str, torch.Tensor]:
        return self.batch

    def reshuffle(self) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        pass


def tokens_per_cpu_second(settings: Settings, n_updates: int = 5) -> float:
    """Return the rate of the best of a few updates: the one that was least disturbed."""
    model = build_model("gpt", settings.structure())
    trainer = Trainer(model, _SameBatch(settings), settings.trainer())
    seconds = []
    for _ in range(n_updates + 1):  # the first one also allocates
        started = time.process_time()
        trainer._update()
        seconds.append(time.process_time() - started)
    return settings.n_tokens / min(seconds[1:])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure rates and short runs, and record them; what is measured already is not repeated."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.weights.pretraining_settings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the short runs")
    add_record_option(parser, __file__, default=RECORD)
    options = parser.parse_args(arguments)
    about = provenance("python -m benchmarks.weights.pretraining_settings", torch.device("cpu"))
    rates = {
        precision: round(tokens_per_cpu_second(Settings(precision=precision)))
        for precision in ("float32", "bfloat16")
    }
    print(rates, flush=True)
    runs = []
    for name, changes in VARIANTS.items():
        out = options.out / name.replace(",", "").replace(" ", "-")
        with only_process(out):
            settings = settings_of(out, SHORT | changes)
            train(out, settings, out / "stable", ends=False)
        runs.append(
            {"name": name, "settings": asdict(settings), "end": read_curve(out / "stable")[-1]}
        )
        record = about | {"tokens_per_cpu_second": rates, "runs": runs}
        write_record(options.record, record)


if __name__ == "__main__":
    main()
