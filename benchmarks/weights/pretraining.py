"""Pretrain a GPT for as many hours as there are, stopped and resumed at any time.

  python -m benchmarks.weights.pretraining train --out DIR    # at a constant rate; repeat to go on
  python -m benchmarks.weights.pretraining decay --out DIR    # from where it stands: lower the rate
  python -m benchmarks.weights.pretraining count --out DIR    # the 5-gram model that it has to beat
  python -m benchmarks.weights.pretraining compare --out DIR  # with that, on the test texts
  python -m benchmarks.weights.pretraining ship --out DIR     # into the package, with its card

The learning rate stays where it is until `decay` lowers it in a run of its own, so that nobody has
to know beforehand how long there will be time. `train` can be killed at any moment and goes on
from a checkpoint a few minutes older; it ends when the held-out loss has stopped falling. With
`--begin-with` a model that was trained before goes on, with its own tokenizer.
"""

import argparse
import json
import platform
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.chapters.continuations import N_SENTENCES, N_TEXTS, PROMPT, continuations, judged
from benchmarks.records import add_record_option, provenance, write_record
from benchmarks.weights.pretrain import CHECKPOINTS, LICENCE, LIMITS
from benchmarks.weights.pretraining_text import (
    ORDER,
    STORIES,
    Text,
    bits_of,
    counted,
    held_out_stories,
    prepare_text,
    story_words,
    test_text,
)
from course_pkg.common.files import write_atomically
from course_pkg.decoding.generation import generate
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import mixed_windows
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.training.checkpoint import CheckpointError, list_checkpoints, load_checkpoint
from course_pkg.training.lock import only_process
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import build_model, load_model, save_model
from course_pkg.weights.pretrained import HISTORY_FILE

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "course_pkg" / "results" / "benchmarks" / "pretraining.json"
ENDLESS = 10**6
N_SHOWN = 10
"""Continuations that a record and a card show: the first that were drawn."""

PATIENCE, MARGIN = 10, 0.002
"""Training ends when so many evaluations in a row gain less than this, in nats per token."""


SHARES = (0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
"""Of the new weights, in a mean with those that a run began with: `mixtures`."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides the outcome of a run; saved with it.

    Attributes:
        batch_size: rows of a batch; `n_accumulate` batches are an update.
        n_updates: end of the run, or None to go on until nothing is gained.
        n_decay: updates at that end in which the rate falls.
        mixture: what an epoch reads, a name in `pretraining_text.MIXTURES`.
        begin_with: folder of a GPT whose weights, structure and tokenizer are taken over, or "" for
            a new one of the sizes here.
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
    optimizer: str = "adamw"
    dropout: float = 0.0
    precision: str = "bfloat16"
    evaluate_every: int = 200
    checkpoint_every: int = 20
    log_every: int = 10
    n_updates: int | None = None
    n_decay: int = 0
    seed: int = 0
    mixture: str = "eighth"
    begin_with: str = ""

    @property
    def n_tokens(self) -> int:
        """Tokens of an update."""
        return self.batch_size * self.n_accumulate * self.context_length

    def structure(self) -> dict[str, Any]:
        """Return the structure; a new one has rotary positions, gated units and no biases."""
        if self.begin_with:
            return structure_of(self.begin_with)
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
            optimizer=self.optimizer,
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


def structure_of(folder: str | Path) -> dict[str, Any]:
    """Return the structure of the model in a folder."""
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    structure: dict[str, Any] = config["structure"]
    return structure


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


def settings_of(out: Path, changes: dict[str, Any]) -> Settings:
    """Return the settings of the run in a folder, which begins with these if there is none.

    Raises:
        ValueError: if the run there has others.
    """
    file = out / "settings.json"
    if not file.exists():
        if changes.get("begin_with"):
            sizes = structure_of(changes["begin_with"])
            changes = {n: v for n, v in sizes.items() if n in Settings.__annotations__} | changes
        settings = Settings(**changes)
        write_atomically(file, json.dumps(asdict(settings), indent=2) + "\n")
    settings = Settings(**json.loads(file.read_text(encoding="utf-8")))
    for name, value in changes.items():
        if getattr(settings, name) != value:
            raise ValueError(f"{out} was begun with {name} {getattr(settings, name)}, not {value}")
    return settings


def train(out: Path, settings: Settings, folder: Path, *, ends: bool) -> Path | None:
    """Train, or go on, in a folder; return the folder of the model if the run came to its end."""
    text = text_of(out, settings)
    structure = settings.structure()
    generator = torch.Generator().manual_seed(settings.seed)
    model = build_model("gpt", structure, dropout=settings.dropout, generator=generator)
    if settings.begin_with:
        model.load_state_dict(load_model(settings.begin_with).model.state_dict())
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


def measured(model: Any, text: Text) -> dict[str, Any]:
    """Return what is compared: bits per byte on the test texts, and stories by the rule."""
    stories = continuations(model, text.tokenizer)
    return {
        "test": bits_of(model, test_text(text.tokenizer), text.tokenizer.eos_id)[1],
        "sentences": judged(stories, story_words()),
        "stories": stories[:N_SHOWN],
    }


def once(file: Path, work: Callable[[], Any]) -> Any:
    """Return what work finds, from a file if it was done before."""
    if not file.exists():
        write_atomically(file, json.dumps(work(), indent=2) + "\n")
    return json.loads(file.read_text(encoding="utf-8"))


def count(out: Path, settings: Settings) -> dict[str, Any]:
    """Return what an n-gram model of the same tokens does, counted once for each folder.

    On the excerpts of the validation texts, to stand beside the curve, and on what is compared.
    """

    def work() -> dict[str, Any]:
        text = text_of(out, settings)
        model = counted(text)
        valid = bits_of(model, text.held_out, text.tokenizer.eos_id)[1]
        return {"order": ORDER, "valid": valid, **measured(model, text)}

    found: dict[str, Any] = once(out / "ngram.json", work)
    return found


def before(out: Path, settings: Settings) -> dict[str, Any] | None:
    """Return what the model does that a run began with, measured once; None if it was new."""

    def work() -> dict[str, Any]:
        text, model = text_of(out, settings), load_model(settings.begin_with).model
        nats, bits = bits_of(model, text.held_out, text.tokenizer.eos_id)
        return {"valid_loss": nats, "valid": bits, **measured(model, text)}

    return once(out / "before.json", work) if settings.begin_with else None


def mixtures(out: Path, settings: Settings, model: nn.Module, folder: Path) -> list[dict[str, Any]]:
    """Return what means of a run's first and last weights do on the validation text, best first.

    A model that went on with other text has forgotten some of the earlier one; a mean keeps more of
    what was gained than of what was lost (Wortsman et al. 2022). Those that are worse than before
    on some kind of text come after those that are not. Measured once for each decay.
    """
    earlier = before(out, settings)
    if earlier is None:
        return []

    def work() -> list[dict[str, Any]]:
        text, found = text_of(out, settings), []
        for share in SHARES:
            mixed = mixed_with_begun(settings, model, share)
            nats, bits = bits_of(mixed, text.held_out, text.tokenizer.eos_id)
            n_worse = sum(bits[name] > earlier["valid"][name] for name in bits)
            found.append({"share": share, "valid_loss": nats, "n_worse": n_worse, "valid": bits})
        return sorted(found, key=lambda one: (one["n_worse"] > 0, one["valid_loss"]))

    found: list[dict[str, Any]] = once(folder / "mixtures.json", work)
    return found


def mixed_with_begun(settings: Settings, model: nn.Module, share: float) -> nn.Module:
    """Return a model whose weights lie between those that a run began with and a model's."""
    mixed = load_model(settings.begin_with).model
    first, last = mixed.state_dict(), model.state_dict()
    mixed.load_state_dict({name: first[name].lerp(last[name], share) for name in first})
    return mixed


def text_of(out: Path, settings: Settings) -> Text:
    """Return the text of a run, tokenized by its model's own tokenizer if it began with one."""
    begun = load_model(settings.begin_with) if settings.begin_with else None
    return prepare_text(
        out / "text", settings.vocab_size, begun and begun.tokenizer, settings.mixture
    )


def compare(out: Path, settings: Settings) -> dict[str, Any]:
    """Return what the newest weights do, beside what they began with and the counted model."""
    text = text_of(out, settings)
    model, folder = newest_model(out, settings)
    if folder == out / "stable":  # whose weights change
        means, ours = [], measured(model, text)
    else:
        means = mixtures(out, settings, model, folder)
        share = means[0]["share"] if means else 1.0
        if means:
            model = mixed_with_begun(settings, model, share)
        ours = once(folder / f"measured-{share:g}.json", lambda: measured(model, text))
    curve = read_curve(out / "stable")
    if folder != out / "stable":
        ending = read_curve(folder)
        seconds = max(
            (e["cpu_seconds"] for e in curve if e["step"] <= ending[0]["step"]), default=0
        )
        curve = [e for e in curve if e["step"] < ending[0]["step"]]
        curve += [e | {"cpu_seconds": seconds + e["cpu_seconds"]} for e in ending]
    return {
        "weights": folder.name,
        "mixtures": means,
        "gpt": ours,
        "before": before(out, settings),
        "ngram": count(out, settings),
        "held-out stories": judged(held_out_stories(), story_words()),
        "curve": curve,
        "settings": asdict(settings),
        "text": text.about,
    }


def newest_model(out: Path, settings: Settings) -> tuple[nn.Module, Path]:
    """Return the model of the latest decay, else that of the newest checkpoint, and its run."""
    finished = sorted(f for f in out.glob("decay-*") if (f / "model").exists())
    if finished:
        return load_model(finished[-1] / "model").model, finished[-1]
    checkpoint = load_checkpoint(list_checkpoints(out / "stable")[-1])
    model = build_model("gpt", settings.structure())
    model.load_state_dict(checkpoint.weights)
    return model.eval(), out / "stable"


def ship(out: Path, settings: Settings, record: dict[str, Any], machine: str) -> Path:
    """Put the weights of the latest decay into the package, halved, with card and history.

    Raises:
        ValueError: if nothing was decayed, or what the run began with predicts a text better.
    """
    model, folder = newest_model(out, settings)
    if folder == out / "stable":
        raise ValueError(f"{out} has no decayed weights; lower the rate with the step decay")
    if record["mixtures"]:
        model = mixed_with_begun(settings, model, record["mixtures"][0]["share"])
    earlier = record["before"]
    worse = [
        n for n, bits in record["gpt"]["test"].items() if earlier and bits >= earlier["test"][n]
    ]
    if worse:
        raise ValueError(f"the model that {out} began with predicts {', '.join(worse)} as well")
    text, target = text_of(out, settings), CHECKPOINTS / "gpt-small"
    history = [
        {"step": e["step"], "valid_loss": e["valid_loss"], "sample": e["sample"]}
        for e in record["curve"]
    ]
    first_card = ""
    if settings.begin_with:
        begun = load_model(settings.begin_with)
        first_card = begun.card
        history = joined_history(Path(settings.begin_with), history)
    save_model(
        target,
        model,
        text.tokenizer,
        kind="gpt",
        structure=settings.structure(),
        card=card(record, model, machine, first_card),
        dtype=torch.float16,
    )
    write_atomically(
        target / HISTORY_FILE, json.dumps(history, indent=1, ensure_ascii=False) + "\n"
    )
    return target


def joined_history(begun: Path, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the history of the earlier runs before this one's, whose loss is on other text."""
    file = begun / HISTORY_FILE
    if not file.exists():
        return history
    earlier = json.loads(file.read_text(encoding="utf-8"))
    n, run = earlier[-1]["step"], "with more tales" if "run" in earlier[-1] else "with tales"
    return earlier + [e | {"step": n + e["step"], "run": run} for e in history]


ARTICLES = {"eighth": "an", "quarter": "a"}

PERIOD = """The tales are of 1820 to 1922. They have the stereotypes of their time, of
peoples, of women and men, of poor and rich, and the model has learned them with the words."""


def card(record: dict[str, Any], model: nn.Module, machine: str, first_card: str) -> str:
    """Write what the model is, where it comes from and what not to expect of it."""
    settings, last = Settings(**record["settings"]), record["curve"][-1]
    about, structure = record["text"], settings.structure()
    curve = [
        f"| {e['step']:,} | {e['n_tokens']:,} | {e['valid_loss']:.3f} |" for e in record["curve"]
    ]
    epoch = sum(p["n_times"] * (p["end"] - p["first"]) for p in about["parts"].values())
    begun = ""
    if first_card:
        curve.insert(0, f"| 0 | 0 | {record['before']['valid_loss']:.3f} |")
        begun = earlier_runs(first_card)
    means = ""
    if record["mixtures"] and record["mixtures"][0]["share"] < 1:
        rows = [
            f"| {m['share']:g} | {m['valid_loss']:.3f} | {m['n_worse']} |"
            for m in sorted(record["mixtures"], key=lambda m: m["share"])
        ]
        means = f"""
What ships is a mean of the weights at the end and of those that the run began with,
{record["mixtures"][0]["share"]:g} of the new ones (Wortsman et al. 2022). Of these shares it
predicts the validation text best, among those with which no kind is predicted worse than before:

| share | validation loss, nats per token | kinds of text worse than before |
|--:|--:|--:|
{chr(10).join(rows)}
"""
    n_decay = last["step"] - int(record["weights"].removeprefix("decay-"))
    sentences = {
        name: record[name]["sentences"]["percent_well_formed"] for name in ("gpt", "ngram")
    }
    real = record["held-out stories"]["percent_well_formed"]
    stories = "\n".join(f"{i}. {text}" for i, text in enumerate(record["gpt"]["stories"], 1))
    return f"""# gpt-small: {count_parameters(model):,} parameters

{LIMITS}
{PERIOD}

## Structure
{structure["n_layers"]} layers, width {structure["d_model"]}, {structure["n_heads"]} heads,
context of {structure["context_length"]} tokens, byte-pair vocabulary of {about["vocab_size"]:,};
`config.json` says the rest. Weights are stored as float16.

## Data
{about["n_train_tokens"]:,} tokens: {ARTICLES[settings.mixture]} {settings.mixture} of 86
public-domain books of tales, a quarter of the generated stories (Apache-2.0), Wikipedia articles of
gensim's test data and of WikiText-2 (CC BY-SA 3.0), the head of TinyStories (CDLA-Sharing-1.0), War
and Peace (public domain).

{kinds_of_text(about)}

## Training
{begun}{last["step"]:,} updates, {last["n_tokens"] / 1e6:.1f} million tokens,
{last["n_tokens"] / epoch:.2f} epochs of them; the next token is predicted.
{settings.optimizer.capitalize()}, learning rate {settings.lr:g}, constant after
{settings.n_warmup} updates and lowered to zero in the last {n_decay}, {settings.precision}.
{machine}, {last["cpu_seconds"] / 60:.0f} minutes of CPU time, {last["date"][:10]},
torch {torch.__version__}.

| update | tokens | validation loss, nats per token |
|---|--:|--:|
{chr(10).join(curve)}
{means}
Repeat it, with the standard data files in the folder COURSE_DATA:

```
{chr(10).join(commands(settings, last["step"] - n_decay, n_decay, first_card))}
```

## How well it predicts text that it has not seen
{table(record)}

## How it tells a story
{N_TEXTS} texts after "{PROMPT}", of {N_SENTENCES} sentences at most (temperature 0.8, of the 50
likeliest tokens). A rule finds {sentences["gpt"]:.0f} % of their sentences well formed, and
{sentences["ngram"]:.0f} % of those of the {ORDER}-gram model; of the held-out {STORIES} themselves,
{real:.0f} %. It asks whether a sentence ends, closes its
quotations, does not go round in circles and brings in no new name unannounced, and does not ask
whether the story makes sense. The first ten drawn:

{stories}

## Licence
{LICENCE}
"""


def earlier_runs(first_card: str) -> str:
    """Return what the card of the model that a run began with says of its training.

    The text of the last run there comes from that card's own section on data, which the new one
    replaces.
    """
    data, training = (card_section(first_card, title) for title in ("Data", "Training"))
    training = training.partition("Repeat it")[0].strip()
    if not training.startswith("### "):
        title, last = "### First run: the library", training
        return f"{title}\n\n{data}\n\n{last}\n\n### Second run: the library and tales\n\n"
    title = "\n### Second run: the library and tales\n"
    before, _, last = training.partition(title)
    runs = f"{before}{title}\n{data}\n{last}"
    return f"{runs}\n\n### Third run: the library and more tales\n\n"


def kinds_of_text(about: dict[str, Any]) -> str:
    """Return the kinds of text that a model has read as a Markdown table."""
    rows = [
        f"| {name} | {part['n_documents'][0]:,} | {part['n_words'][0]:,} "
        f"| {part['end'] - part['first']:,} | {part['n_times']} | {part['sha256']} |"
        for name, part in about["parts"].items()
    ]
    head = "| text | documents | words | tokens | read how often an epoch | sha256 |"
    return "\n".join([head, "|---|--:|--:|--:|--:|---|", *rows])


def card_section(text: str, title: str) -> str:
    """Return what stands below a heading of a card; nothing if it has no such heading."""
    below = f"\n{text}".partition(f"\n## {title}\n")[2]
    return below.partition("\n## ")[0].strip()


def commands(settings: Settings, n_stable: int, n_decay: int, first_card: str = "") -> list[str]:
    """Return the commands that repeat a run, and those before it."""
    first, begin, folder = [], "", "gpt-tales"
    if settings.begin_with:
        first, begin = ["python -m benchmarks.weights.pretrain train gpt"], "runs/gpt-small/model"
    lines = first_card.splitlines()
    earlier = [one for one in lines if one.startswith("python -m benchmarks.weights.pre")]
    if any("--begin-with" in one for one in earlier):  # what that run shipped
        first, begin, folder = earlier, "course_pkg/checkpoints/gpt-small", "gpt-more-tales"
    run = f"python -m benchmarks.weights.pretraining {{}} --out runs/{folder}"
    changed = {
        name: value
        for name, value in asdict(settings).items()
        if value != getattr(Settings, name) and name not in ("n_updates", "begin_with")
    }
    if settings.begin_with:  # which has its own sizes
        changed = {n: v for n, v in changed.items() if n not in structure_of(settings.begin_with)}
    flags = [f"--{name.replace('_', '-')} {value}" for name, value in changed.items()]
    if begin:
        flags.insert(0, f"--begin-with {begin}")
    return [
        *first,
        " ".join([run.format("train"), *flags, f"--n-updates {n_stable}"]),
        run.format("decay") + f" --updates {n_decay}",
        run.format("ship"),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, lower the rate, or compare."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.weights.pretraining",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(dest="step", required=True)
    for name, what in (
        ("train", "begin or go on, at a constant rate"),
        ("decay", "lower the rate to zero, in a run of its own"),
        ("count", "an n-gram model of the same tokens: what is to be beaten"),
        ("compare", "with that, on the test texts"),
        ("ship", "compare, and put the weights into the package"),
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
        if name in ("compare", "ship"):
            add_record_option(step, __file__, default=RECORD)
        if name == "ship":
            step.add_argument(
                "--machine", default=platform.machine(), help="what it was trained on"
            )
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
        about = provenance("python -m benchmarks.weights.pretraining compare", torch.device("cpu"))
        about["what"] = (
            f"The shipped GPT and a modified Kneser–Ney {ORDER}-gram of the same tokens, on text "
            f"that neither has seen; and the share of sentences of {N_TEXTS} continuations that "
            "a rule finds well formed"
        )
        record = about | compare(out, settings)
        named = asdict(replace(settings, begin_with=Path(settings.begin_with).name))
        # It travels; that folder does not.
        write_record(options.record, record | {"settings": named})
        print(table(record))
        if options.step == "ship":
            print(ship(out, settings, record, options.machine))
    except (ValueError, RuntimeError, OSError, SourceUnavailableError, CheckpointError) as error:
        sys.exit(f"error: {error}")


def table(record: dict[str, Any]) -> str:
    """Return a comparison as Markdown: bits per byte, and how far below counting they are."""
    earlier = record["before"]
    names = ["test text", "bits per byte", f"{ORDER}-gram Kneser–Ney on the same tokens"]
    names += ["before this run"] if earlier else []
    rows = [f"| {' | '.join(names)} |", "|---|" + "--:|" * (len(names) - 1)]
    for name, ours in record["gpt"]["test"].items():
        cells = [ours, record["ngram"]["test"][name], *([earlier["test"][name]] if earlier else [])]
        rows.append(f"| {name} | {' | '.join(f'{bits:.3f}' for bits in cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
