"""Pretrain a GPT for as many hours as there are, stopped and resumed at any time.

    python -m benchmarks.pretraining train --out DIR     # at a constant rate; repeat it to go on
    python -m benchmarks.pretraining decay --out DIR     # from where it stands: lower the rate
    python -m benchmarks.pretraining count --out DIR     # the 5-gram model that it has to beat
    python -m benchmarks.pretraining compare --out DIR   # with that, on the test texts

The learning rate stays where it is until `decay` lowers it in a run of its own, so that nobody has
to know beforehand how long there will be time. `train` can be killed at any moment and goes on
from a checkpoint a few minutes older; it ends when the held-out loss has stopped falling.
"""

import argparse
import fcntl
import json
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.pretraining_text import ORDER, Text, bits_of, counted, prepare_text, test_text
from benchmarks.side_by_side import provenance
from course_pkg.decoding.generation import generate
from course_pkg.files import write_atomically
from course_pkg.model_folders import build_model, load_model, save_model
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import mixed_windows
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.training.checkpoint import CheckpointError, list_checkpoints, load_checkpoint
from course_pkg.training.trainer import Trainer, TrainerConfig

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "results" / "pretraining.json"
ENDLESS = 10**6
PROMPT = "Once upon a time"
PATIENCE, MARGIN = 10, 0.002
"""Training ends when so many evaluations in a row gain less than this, in nats per token."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides the outcome of a run; saved with it.

    Attributes:
        batch_size: rows of a batch; `n_accumulate` batches are an update.
        n_updates: end of the run, or None to go on until nothing is gained.
        n_decay: updates at that end in which the rate falls.
    """

    vocab_size: int = 4096
    context_length: int = 256
    d_model: int = 256
    n_heads: int = 4
    n_layers: int = 6
    d_ff: int = 688
    batch_size: int = 8
    n_accumulate: int = 2
    lr: float = 2e-3
    n_warmup: int = 200
    dropout: float = 0.0
    precision: str = "bfloat16"
    evaluate_every: int = 200
    checkpoint_every: int = 20
    log_every: int = 10
    n_updates: int | None = None
    n_decay: int = 0
    seed: int = 0

    @property
    def n_tokens(self) -> int:
        """Tokens of an update."""
        return self.batch_size * self.n_accumulate * self.context_length

    def structure(self) -> dict[str, Any]:
        """Return the structure: rotary positions, gated units, no biases, tied embeddings."""
        names = ("vocab_size", "context_length", "d_model", "n_heads", "n_layers", "d_ff")
        config = TransformerConfig(
            **{name: getattr(self, name) for name in names},
            positions="rotary",
            norm="rms",
            activation="swiglu",
            has_bias=False,
        )
        return asdict(config)

    def trainer(self) -> TrainerConfig:
        """Return how the trainer is to proceed."""
        return TrainerConfig(
            n_steps=self.n_updates or ENDLESS,
            lr=self.lr,
            n_accumulate=self.n_accumulate,
            schedule="warmup_stable_decay",
            n_warmup=self.n_warmup,
            n_decay=self.n_decay,
            precision=self.precision,
            fused=True,
            log_every=self.log_every,
            evaluate_every=self.evaluate_every,
            checkpoint_every=self.checkpoint_every,
            seed=self.seed,
        )


class StoppedFallingError(Exception):
    """The held-out loss gains nothing any more."""


class Watch:
    """Evaluates on each held-out text, notes tokens, time and date, and ends a run that stalls.

    Args:
        folder: of the run, whose log says what went before.
        ends: whether a stalled run is to end.
    """

    def __init__(self, text: Text, settings: Settings, folder: Path, *, ends: bool) -> None:
        self.text, self.settings, self.ends = text, settings, ends
        self.curve = read_curve(folder)
        self.trainer: Trainer | None = None
        self.earlier_seconds = self.curve[-1]["cpu_seconds"] if self.curve else 0.0
        self.started = time.process_time()

    def __call__(self, model: nn.Module) -> dict[str, Any]:
        """Return the figures of an evaluation.

        Raises:
            StoppedFallingError: if this and the ones before it gained too little.
        """
        assert self.trainer is not None  # it is made with this as its `evaluate`
        nats, bits = bits_of(model, self.text.held_out, self.text.tokenizer.eos_id)
        figures: dict[str, Any] = {
            "n_tokens": self.trainer.run.step * self.settings.n_tokens,
            "cpu_seconds": round(self.earlier_seconds + time.process_time() - self.started),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.machine()}, {torch.get_num_threads()} thread(s)",
            "valid_loss": nats,
            **{f"bits per byte, {name}": round(value, 4) for name, value in bits.items()},
            "sample": continuation(model, self.text.tokenizer, seed=1),
        }
        self.curve = [e for e in self.curve if e["step"] < self.trainer.run.step]
        self.curve.append({"step": self.trainer.run.step, **figures})
        print(json.dumps(self.curve[-1]), flush=True)
        if self.ends and has_stalled([entry["valid_loss"] for entry in self.curve]):
            raise StoppedFallingError(
                f"nothing gained since update {self.curve[-PATIENCE]['step']}"
            )
        return figures


def read_curve(folder: Path) -> list[dict[str, Any]]:
    """Return what a run noted at its evaluations; what a resumed run repeated counts once."""
    file = folder / "log.jsonl"
    if not file.exists():
        return []
    entries = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except json.JSONDecodeError:  # the process was killed while it wrote this line
            continue
    by_step = {entry["step"]: entry for entry in entries if "valid_loss" in entry}
    return [by_step[step] for step in sorted(by_step)]


def has_stalled(losses: Sequence[float]) -> bool:
    """Say whether the last evaluations were no better than the best before them."""
    before, last = losses[:-PATIENCE], losses[-PATIENCE:]
    return bool(before) and min(last) > min(before) - MARGIN


def continuation(model: Any, tokenizer: Any, seed: int, n_tokens: int = 60) -> str:
    """Return what a model makes of a beginning."""
    prompt = torch.tensor([[tokenizer.eos_id, *tokenizer.encode(PROMPT)]])
    drawn = generate(
        model,
        prompt,
        min(n_tokens, model.context_length - prompt.shape[1]),
        temperature=0.8,
        top_k=50,
        generator=torch.Generator().manual_seed(seed),
        stop_id=tokenizer.eos_id,
    )[0].tolist()
    kept = [i for i in drawn if i < tokenizer.vocab_size]
    text: str = tokenizer.decode(kept)
    return text if text.startswith(PROMPT) else PROMPT + text


@contextmanager
def only_process(out: Path) -> Iterator[None]:
    """Let no other process train in the same folder.

    Raises:
        RuntimeError: if one does.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"{out} is being trained by another process") from None
        yield


def settings_of(out: Path, changes: dict[str, Any]) -> Settings:
    """Return the settings of the run in a folder, which begins with these if there is none.

    Raises:
        ValueError: if the run there has others.
    """
    file = out / "settings.json"
    if not file.exists():
        settings = Settings(**changes)
        write_atomically(file, json.dumps(asdict(settings), indent=2) + "\n")
    settings = Settings(**json.loads(file.read_text(encoding="utf-8")))
    for name, value in changes.items():
        if getattr(settings, name) != value:
            raise ValueError(f"{out} was begun with {name} {getattr(settings, name)}, not {value}")
    return settings


def train(out: Path, settings: Settings, folder: Path, *, ends: bool) -> Path | None:
    """Train, or go on, in a folder; return the folder of the model if the run came to its end."""
    text = prepare_text(out / "text", settings.vocab_size)
    structure = settings.structure()
    generator = torch.Generator().manual_seed(settings.seed)
    model = build_model("gpt", structure, dropout=settings.dropout, generator=generator)
    watch = Watch(text, settings, folder, ends=ends)
    trainer = watch.trainer = Trainer(
        model,
        mixed_windows(
            text.ids, text.parts, settings.context_length, settings.batch_size, seed=settings.seed
        ),
        settings.trainer(),
        folder=folder,
        evaluate=watch,
    )
    print(
        f"{count_parameters(model):,} parameters, {text.about['n_train_tokens']:,} tokens, "
        f"{settings.n_tokens:,} an update; {platform.machine()}, "
        f"{torch.get_num_threads()} thread(s), torch {torch.__version__}",
        flush=True,
    )
    try:
        trainer.train(resume=True)
    except StoppedFallingError as reason:
        print(f"stopped: {reason}; lower the rate now with the step decay", flush=True)
        return None
    save_model(
        folder / "model", model, text.tokenizer, kind="gpt", structure=structure, card=_card(watch)
    )
    return folder / "model"


def _card(watch: Watch) -> str:
    last = watch.curve[-1]
    return (
        f"# GPT after {last['n_tokens']:,} tokens\n\nA model in the making: its held-out loss is "
        f"{last['valid_loss']:.3f} nats per token.\n"
    )


def decay(out: Path, settings: Settings, n_decay: int) -> Path | None:
    """Lower the rate to zero, beginning with the newest checkpoint, in a folder of its own.

    A decay that was killed goes on where it was.
    """
    begun = [f for f in sorted(out.glob("decay-*")) if not (f / "model").exists()]
    if begun:
        folder = begun[-1]
    else:
        newest = list_checkpoints(out / "stable")[-1]
        folder = out / f"decay-{newest.name.removeprefix('step-')}"
        copying = out / f".{folder.name}"  # whole or absent, should it be killed while it copies
        shutil.rmtree(copying, ignore_errors=True)
        shutil.copytree(newest, copying / newest.name)
        write_atomically(copying / "n_decay.json", json.dumps(n_decay) + "\n")
        copying.rename(folder)
    n_decay = json.loads((folder / "n_decay.json").read_text(encoding="utf-8"))
    first = int(folder.name.removeprefix("decay-"))
    ending = replace(settings, n_updates=first + n_decay, n_decay=n_decay)
    return train(out, ending, folder, ends=False)


def count(out: Path, settings: Settings) -> dict[str, Any]:
    """Return bits per byte of an n-gram model of the same tokens, counted once for each folder.

    On the excerpts of the validation texts, to stand beside the curve, and on the test texts.
    """
    file = out / "ngram.json"
    if not file.exists():
        text = prepare_text(out / "text", settings.vocab_size)
        model, eos_id = counted(text), text.tokenizer.eos_id
        bits = {
            split: bits_of(model, held_out, eos_id)[1]
            for split, held_out in (("valid", text.held_out), ("test", test_text(text.tokenizer)))
        }
        write_atomically(file, json.dumps({"order": ORDER, **bits}, indent=2) + "\n")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def compare(out: Path, settings: Settings) -> dict[str, Any]:
    """Return bits per byte on every test text, of the newest weights and of the counted model."""
    text = prepare_text(out / "text", settings.vocab_size)
    model, which = newest_model(out, settings)
    _, bits = bits_of(model, test_text(text.tokenizer), text.tokenizer.eos_id)
    return {
        "weights": which,
        "gpt": bits,
        "ngram": count(out, settings),
        "curve": read_curve(out / "stable"),
        "settings": asdict(settings),
        "text": text.about,
    }


def newest_model(out: Path, settings: Settings) -> tuple[nn.Module, str]:
    """Return the model of the latest decay, else that of the newest checkpoint, and which it is."""
    finished = sorted(f for f in out.glob("decay-*") if (f / "model").exists())
    if finished:
        return load_model(finished[-1] / "model").model, finished[-1].name
    checkpoint = load_checkpoint(list_checkpoints(out / "stable")[-1])
    model = build_model("gpt", settings.structure())
    model.load_state_dict(checkpoint.weights)
    return model.eval(), f"constant rate, update {checkpoint.step}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, lower the rate, or compare."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pretraining",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(dest="step", required=True)
    for name, what in (
        ("train", "begin or go on, at a constant rate"),
        ("decay", "lower the rate to zero, in a run of its own"),
        ("count", "an n-gram model of the same tokens: what is to be beaten"),
        ("compare", "with that, on the test texts"),
    ):
        step = steps.add_parser(name, help=what)
        step.add_argument("--out", type=Path, required=True, help="the run's folder")
        if name == "train":
            for field in fields(Settings):
                kind = type(field.default) if field.default is not None else int
                flag = "--" + field.name.replace("_", "-")
                step.add_argument(flag, type=kind, help=f"[{field.default}]")
        if name == "decay":
            step.add_argument("--updates", type=int, default=2000, help="how many  [2000]")
        if name == "compare":
            step.add_argument("--record", type=Path, default=RECORD, help=f"[{RECORD.name}]")
    options = parser.parse_args(arguments)
    names = [field.name for field in fields(Settings)]
    changes = {n: v for n in names if (v := getattr(options, n, None)) is not None}
    out = options.out
    try:
        if options.step in ("train", "decay"):
            with only_process(out):
                settings = settings_of(out, changes)
                if options.step == "decay":
                    decay(out, settings, options.updates)
                else:
                    train(out, settings, out / "stable", ends=settings.n_updates is None)
            return
        settings = settings_of(out, changes)
        if options.step == "count":
            print(json.dumps(count(out, settings), indent=2))
            return
        about = provenance("python -m benchmarks.pretraining compare", torch.device("cpu"))
        record = about | compare(out, settings)
        write_atomically(options.record, json.dumps(record, indent=2) + "\n")
        print(table(record))
    except (ValueError, RuntimeError, SourceUnavailableError, CheckpointError) as error:
        sys.exit(f"error: {error}")


def table(record: dict[str, Any]) -> str:
    """Return a comparison as Markdown, each text with how far the network is below counting."""
    rows = [f"| test text | GPT | {ORDER}-gram | difference |", "|---|--:|--:|--:|"]
    for name, ours in record["gpt"].items():
        theirs = record["ngram"]["test"][name]
        rows.append(f"| {name} | {ours:.3f} | {theirs:.3f} | {100 * (ours / theirs - 1):+.1f} % |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
