"""Train the shipped BERT on, with tales: more tokens of more kinds of text than a lesson allows.

  python -m benchmarks.weights.pretraining_bert train --out D --begin-with D  # an hour of two cores
  python -m benchmarks.weights.pretraining_bert compare --out D  # before and after, on test texts
  python -m benchmarks.weights.pretraining_bert ship --out D     # into the package, its card too

It begins with a BERT of `python -m benchmarks.weights.pretrain` and reads the text of gpt-small's
second run (`benchmarks.weights.pretraining_text`), and the articles of WikiText-2 once more in
small letters, as film reviews and questions often come. `train` can be killed at any moment and
goes on from a checkpoint a minute older.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.records import add_record_option, provenance, write_record
from benchmarks.weights.pretrain import (
    CHECKPOINTS,
    LICENCE,
    LIMITS,
    MASK_RATE,
    N_MASKED_BATCHES,
    hidden_tokens,
)
from benchmarks.weights.pretraining import (
    PERIOD,
    ROOT,
    card_section,
    joined_history,
    kinds_of_text,
    read_curve,
)
from benchmarks.weights.pretraining_text import (
    N_CHARACTERS,
    Text,
    excerpt,
    load_shelves,
    prepare_text,
    test_text,
)
from course_pkg.common.files import write_atomically
from course_pkg.evaluation.likelihood import count_bytes
from course_pkg.models.transformer import count_parameters
from course_pkg.text.batches.pretraining import masked_batches
from course_pkg.text.batches.token_files import TokenFile, write_token_file
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.training.checkpoint import CheckpointError
from course_pkg.training.lock import only_process
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import TrainedModel, load_model, save_model
from course_pkg.weights.pretrained import HISTORY_FILE

RECORD = ROOT / "course_pkg" / "results" / "benchmarks" / "pretraining_bert.json"
TWICE = "Wikipedia (WikiText-2)"
"""The kind of text that is read once more in small letters."""

SMALL = f"{TWICE}, in small letters"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides the outcome of a run; saved with it.

    Attributes:
        begin_with: folder of the BERT that goes on.
        batch_size: rows of an update.
        n_decay: updates at the end in which the rate falls to zero.
    """

    begin_with: str
    batch_size: int = 64
    mask_rate: float = 0.3
    optimizer: str = "adamw"
    lr: float = 1e-3
    n_warmup: int = 100
    n_updates: int = 6000
    n_decay: int = 2400
    precision: str = "bfloat16"
    evaluate_every: int = 500
    checkpoint_every: int = 100
    seed: int = 0

    def trainer(self) -> TrainerConfig:
        """Return how the trainer is to proceed."""
        return TrainerConfig(
            n_steps=self.n_updates,
            lr=self.lr,
            optimizer=self.optimizer,
            schedule="warmup_stable_decay",
            n_warmup=self.n_warmup,
            n_decay=self.n_decay,
            precision=self.precision,
            fused=True,
            log_every=10,
            evaluate_every=self.evaluate_every,
            checkpoint_every=self.checkpoint_every,
            seed=self.seed,
        )


def settings_of(out: Path, changes: dict[str, Any]) -> Settings:
    """Return the settings of the run in a folder, which begins with these if there is none.

    Raises:
        ValueError: if the run there has others, or there is none and nothing to begin with.
    """
    file = out / "settings.json"
    if not file.exists():
        if "begin_with" not in changes:
            raise ValueError(f"{out} has no run; say with --begin-with what it is to begin with")
        write_atomically(file, json.dumps(asdict(Settings(**changes)), indent=2) + "\n")
    settings = Settings(**json.loads(file.read_text(encoding="utf-8")))
    for name, value in changes.items():
        if getattr(settings, name) != value:
            raise ValueError(f"{out} was begun with {name} {getattr(settings, name)}, not {value}")
    return settings


def text_of(out: Path, tokenizer: Any) -> Text:
    """Return the text of a run, with a part in small letters; tokenized once for each folder."""
    folder = out / "text"
    text = prepare_text(folder, tokenizer.vocab_size, tokenizer)
    tokens, held_out = folder / "small.tokens", folder / "small.json"
    if not held_out.exists():  # written last: with it, all is there
        encode = tokenizer.to_fast().encode
        train, valid, _ = ([t.lower() for t in split] for split in load_shelves()[TWICE])
        documents = [[tokenizer.eos_id, *encode(document)] for document in train]
        write_token_file(tokens, documents, tokenizer.vocab_size)
        texts = excerpt(valid, N_CHARACTERS)
        small = [[encode(text) for text in texts], count_bytes(texts)]
        write_atomically(held_out, json.dumps(small) + "\n")
    small = json.loads(held_out.read_text(encoding="utf-8"))
    ids = torch.cat([text.ids[first:end].repeat(n_times) for first, end, n_times in text.parts])
    return replace(
        text,
        ids=torch.cat([ids, TokenFile(tokens)[:]]),
        held_out=text.held_out | {SMALL: small},
    )


def stream(documents: Sequence[Sequence[int]], eos_id: int) -> Tensor:
    """Join documents to one text, each with its end."""
    return torch.tensor([i for document in documents for i in (*document, eos_id)])


class Watch:
    """Evaluates on each held-out text, and notes tokens, time and date."""

    def __init__(self, text: Text, trained: TrainedModel, settings: Settings, out: Path) -> None:
        self.text, self.trained, self.settings = text, trained, settings
        self.trainer: Trainer | None = None
        curve = read_curve(out)
        self.earlier_seconds = curve[-1]["cpu_seconds"] if curve else 0.0
        self.started = time.process_time()

    def __call__(self, model: nn.Module) -> dict[str, Any]:
        """Return the figures of an evaluation."""
        assert self.trainer is not None  # it is made with this as its `evaluate`
        loss, losses = validation(self.text, self.trained, self.settings.mask_rate)
        n_tokens = self.settings.batch_size * self.trained.model.context_length
        figures: dict[str, Any] = {
            "n_tokens": self.trainer.run.step * n_tokens,
            "cpu_seconds": round(self.earlier_seconds + time.process_time() - self.started),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.machine()}, {torch.get_num_threads()} thread(s)",
            "valid_loss": loss,
            **losses,
        }
        print(json.dumps({"step": self.trainer.run.step, **figures}), flush=True)
        return figures


def validation(text: Text, trained: TrainedModel, rate: float) -> tuple[float, dict[str, float]]:
    """Return nats per hidden token over all held-out texts, and on each."""
    eos_id = text.tokenizer.eos_id
    found = {
        name: hidden_tokens(trained, stream(documents, eos_id), rate)
        for name, (documents, _) in text.held_out.items()
    }
    each = {f"nats, {name}": round(nats / n, 4) for name, (nats, _, n) in found.items()}
    n_hidden = sum(n for _, _, n in found.values())
    return sum(nats for nats, _, _ in found.values()) / n_hidden, each


def tested(text: Text, trained: TrainedModel) -> dict[str, dict[str, float]]:
    """Return nats per hidden token, and the share guessed, on the test text of each kind."""
    encode = text.tokenizer.to_fast().encode
    documents = {name: ids for name, (ids, _) in test_text(text.tokenizer).items()}
    documents[SMALL] = [encode(document.lower()) for document in load_shelves()[TWICE][2]]
    scores = {}
    for name, ids in documents.items():
        rows = stream(ids, text.tokenizer.eos_id)
        nats, n_right, n = hidden_tokens(trained, rows, MASK_RATE, N_MASKED_BATCHES)
        scores[name] = {"nats": nats / n, "percent_right": 100 * n_right / n}
    return scores


def train(out: Path, settings: Settings) -> Path:
    """Train, or go on, in a folder; return the folder of the model."""
    begun = load_model(settings.begin_with)
    tokenizer: Any = begun.tokenizer
    text = text_of(out, tokenizer)
    watch = Watch(text, begun, settings, out)
    batches = masked_batches(
        text.ids,
        begun.model.context_length,
        settings.batch_size,
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
        rate=settings.mask_rate,
        seed=settings.seed,
    )
    trainer = watch.trainer = Trainer(
        begun.model, batches, settings.trainer(), folder=out, evaluate=watch
    )
    print(f"{len(text.ids):,} tokens, {len(batches):,} batches an epoch", flush=True)
    trainer.train(resume=True)
    structure = json.loads((Path(settings.begin_with) / "config.json").read_text("utf-8"))
    save_model(
        out / "model",
        begun.model,
        tokenizer,
        kind="bert",
        structure=structure["structure"],
        card="# BERT in the making\n",
    )
    return out / "model"


def compare(out: Path, settings: Settings, short: Sequence[Path]) -> dict[str, Any]:
    """Return what the model does, what it did before, and what short runs chose its settings."""
    begun, trained = load_model(settings.begin_with), load_model(out / "model")
    text = text_of(out, begun.tokenizer)
    tried = [
        {"settings": _named(settings_of(run, {})), "end": read_curve(run)[-1]} for run in short
    ]
    return {
        "before": tested(text, begun),
        "bert": tested(text, trained),
        "valid_loss_before": validation(text, begun, settings.mask_rate)[0],
        "curve": read_curve(out),
        "settings": _named(settings),
        "text": text.about | {"n_tokens_an_epoch": len(text.ids)},
        "short runs": tried,
    }


def _named(settings: Settings) -> dict[str, Any]:
    """Return settings without the folder of the first weights: it does not travel."""
    return asdict(settings) | {"begin_with": Path(settings.begin_with).name}


def ship(out: Path, settings: Settings, record: dict[str, Any], machine: str) -> Path:
    """Put the weights into the package, halved, with card and history.

    Raises:
        ValueError: if what the run began with restores some kind of text as well.
    """
    worse = [
        name
        for name, now in record["bert"].items()
        if now["nats"] >= record["before"][name]["nats"]
    ]
    if worse:
        raise ValueError(f"the model that {out} began with restores {', '.join(worse)} as well")
    begun, trained = load_model(settings.begin_with), load_model(out / "model")
    structure = json.loads((out / "model" / "config.json").read_text(encoding="utf-8"))["structure"]
    target = CHECKPOINTS / "bert-small"
    history = [{"step": e["step"], "valid_loss": e["valid_loss"]} for e in record["curve"]]
    history = joined_history(Path(settings.begin_with), history)
    save_model(
        target,
        trained.model,
        trained.tokenizer,
        kind="bert",
        structure=structure,
        card=card(record, trained, begun.card, machine),
        dtype=torch.float16,
    )
    write_atomically(target / HISTORY_FILE, json.dumps(history, indent=1) + "\n")
    return target


def table(record: dict[str, Any]) -> str:
    """Return a comparison as Markdown."""
    head = "| test text | nats per masked token | guessed right | nats before this run |"
    rows = [
        f"| {name} | {now['nats']:.3f} | {now['percent_right']:.1f} % "
        f"| {record['before'][name]['nats']:.3f} |"
        for name, now in record["bert"].items()
    ]
    return "\n".join([head, "|---|--:|--:|--:|", *rows])


def card(record: dict[str, Any], trained: TrainedModel, first_card: str, machine: str) -> str:
    """Write what the model is, where it comes from and what not to expect of it."""
    settings, last = Settings(**record["settings"]), record["curve"][-1]
    about, context_length = record["text"], trained.model.context_length
    n_read = last["step"] * settings.batch_size * (context_length - 2)
    n_epochs = n_read / about["n_tokens_an_epoch"]
    curve = [(0, 0, record["valid_loss_before"])]
    curve += [(e["step"], e["n_tokens"], e["valid_loss"]) for e in record["curve"]]
    points = [f"| {step:,} | {n_tokens:,} | {loss:.3f} |" for step, n_tokens, loss in curve]
    library, training = (card_section(first_card, title) for title in ("Data", "Training"))
    flags = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in record["settings"].items()
        if name != "begin_with" and value != getattr(Settings, name)
    ]
    command = "python -m benchmarks.weights.pretraining_bert {} --out runs/bert-tales"
    begin = "--begin-with runs/bert-small/model"
    return f"""# bert-small: {count_parameters(trained.model):,} parameters

{LIMITS}
{PERIOD}

## Structure
{card_section(first_card, "Structure")}

## Data
{about["n_train_tokens"]:,} tokens: an eighth of 86 public-domain books of tales, a quarter of the
generated stories (Apache-2.0), Wikipedia articles of gensim's test data and of WikiText-2 (CC BY-SA
3.0), the head of TinyStories (CDLA-Sharing-1.0), War and Peace (public domain). The articles of
WikiText-2 were read a second time in small letters.

{kinds_of_text(about)}

## Training
### First run: the library

{library}

{training.partition("Repeat it:")[0].strip()}

### Second run: the library, tales and small letters

{last["step"]:,} updates, {last["n_tokens"] / 1e6:.1f} million tokens, each of the text about
{n_epochs:.1f} times; {100 * settings.mask_rate:.0f} % of the tokens are predicted, as before.
{settings.optimizer.capitalize()}, learning rate {settings.lr:g}, constant after
{settings.n_warmup} updates and lowered to zero in the last {settings.n_decay:,},
{settings.precision}.
{machine}, {last["cpu_seconds"] / 60:.0f} minutes of CPU time, {last["date"][:10]},
torch {torch.__version__}.

| update | tokens | validation loss, nats per target |
|---|--:|--:|
{chr(10).join(points)}

Repeat it, with the standard data files in the folder COURSE_DATA:

```
python -m benchmarks.weights.pretrain train gpt
python -m benchmarks.weights.pretrain train bert
{" ".join([command.format("train"), begin, *flags])}
{command.format("ship")}
```

## How well it predicts text that it has not seen
{table(record)}

## Licence
{LICENCE}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, compare or ship."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.weights.pretraining_bert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(dest="step", required=True)
    for name, what in (
        ("train", "begin, or go on"),
        ("compare", "with what it began with, on the test texts"),
        ("ship", "compare, and put the weights into the package"),
    ):
        step = steps.add_parser(name, help=what)
        step.add_argument("--out", type=Path, required=True, help="the run's folder")
        if name == "train":
            step.add_argument("--begin-with", help="folder of the BERT that goes on")
            for field in fields(Settings):
                if field.name != "begin_with":
                    flag = "--" + field.name.replace("_", "-")
                    step.add_argument(flag, type=type(field.default), help=f"[{field.default}]")
            continue
        add_record_option(step, __file__, default=RECORD)
        step.add_argument(
            "--short", type=Path, nargs="+", default=[], help="short runs to be recorded with it"
        )
        if name == "ship":
            step.add_argument(
                "--machine", default=platform.machine(), help="what it was trained on"
            )
    options = parser.parse_args(arguments)
    names = [field.name for field in fields(Settings)]
    changes = {n: v for n in names if (v := getattr(options, n, None)) is not None}
    out = options.out
    try:
        if options.step == "train":
            with only_process(out):
                train(out, settings_of(out, changes))
            return
        settings = settings_of(out, {})
        about = provenance(
            "python -m benchmarks.weights.pretraining_bert compare", torch.device("cpu")
        )
        about["what"] = (
            f"The shipped BERT before and after its second run: nats per masked token, and percent "
            f"guessed right, on text that it has not seen, with {100 * MASK_RATE:.0f} % masked"
        )
        record = about | compare(out, settings, options.short)
        write_record(options.record, record)
        print(table(record))
        if options.step == "ship":
            print(ship(out, settings, record, options.machine))
    except (ValueError, RuntimeError, OSError, SourceUnavailableError, CheckpointError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
