"""Pretrained models as the benchmarks adapt them: copied, given a head, trained, asked.

A checkpoint is one that ships with the package, or a folder that `save_model` wrote. Every
experiment starts from its own copy, so that none sees what another has learned; "from scratch" is
the same structure with new weights.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from benchmarks.papers.published import command_line
from course_pkg.common.checks import whole_numbers
from course_pkg.models import IGNORE
from course_pkg.models.adaptation import Backbone, TextClassifier
from course_pkg.text.batches import Batch, example_batches, pad_rows
from course_pkg.text.tokenizers import BytePairTokenizer, WordPieceTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights import pretrained
from course_pkg.weights.model_folders import TrainedModel, load_model
from course_pkg.weights.published import PUBLISHED, load_published

Collate = Callable[[Sequence[Any]], Batch]

BATCH_SIZE = 32
DROPOUT = 0.1
LR = {"from scratch": 1e-3, "full fine-tuning": 3e-4, "LoRA": 2e-3, "linear probe": 1e-2}
"""Peak learning rates, set beforehand. 3e-4 is the largest of those that Turc et al. 2019 try on
models of this size; LoRA's few numbers and a new head want more."""


@dataclass(frozen=True)
class Reading:
    """What a model reads, and what it should say of it.

    Attributes:
        target: the number of a class, or a list with that of a tag for each token.
        segments: the side of a pair that each token is on, where the model is a BERT.
    """

    ids: list[int]
    target: Any
    segments: list[int] | None = None

    @property
    def n_tokens(self) -> int:
        """How long it is."""
        return len(self.ids)


def load_checkpoint(model: str) -> TrainedModel:
    """Load a folder, a model that ships, MiniLM, or a published one."""
    if Path(model).is_dir():
        return load_model(model)
    if model in PUBLISHED:
        return load_published(model)
    if model == "minilm":
        words = WordPieceTokenizer.from_vocabulary_file(pretrained.minilm_folder() / "vocab.txt")
        return TrainedModel("bert", pretrained.load_minilm(), cast(Any, words), card="")
    return pretrained.load_pretrained(model)


class Pretrained:
    """A checkpoint: a GPT or a BERT with its tokenizer.

    Args:
        model: a folder written by `save_model`, the name of a model that ships with the package,
            or "minilm" or "smollm2-135m", whose weights are optional extras.

    Raises:
        ValueError: if it is no GPT and no BERT, or neither a folder nor a known name.
        ModuleNotFoundError: if a published model is not installed.
    """

    def __init__(self, model: str | Path) -> None:
        path = Path(model)
        trained = load_checkpoint(str(model))
        if trained.kind not in ("gpt", "bert"):
            raise ValueError(f"{model} holds a model of kind {trained.kind!r}; not gpt or bert")
        self.kind = trained.kind
        self.model: Any = trained.model
        tokenizer: Any = trained.tokenizer
        self.special_ids: dict[str, int] = tokenizer.special_ids
        self.eos_id: int = tokenizer.eos_id
        # Ours saw <eos> before every text; the published model's makers put nothing there.
        self.first: list[int] = [] if model in PUBLISHED else [self.eos_id]
        self.context_length: int = self.model.config.context_length
        self.name = path.resolve().parent.name if path.name == "model" else path.name
        self.encode = (
            tokenizer.to_fast() if isinstance(tokenizer, BytePairTokenizer) else tokenizer
        ).encode

    def copy(
        self, *, is_pretrained: bool = True, dropout: float = DROPOUT, seed: int = 0
    ) -> Backbone:
        """Return a copy to adapt; with new weights, of this seed, if it is not to be pretrained."""
        generator = torch.Generator().manual_seed(seed)
        heads = {"has_heads": self.model.token_head is not None} if self.kind == "bert" else {}
        model: Any = type(self.model)(
            self.model.config, dropout=dropout, generator=generator, **heads
        )
        if is_pretrained:
            model.load_state_dict(self.model.state_dict())
        return model

    def read(self, text: str) -> list[int]:
        """Lay a text out as pretraining did: after <eos> in ours, or between [CLS] and [SEP]."""
        if self.kind == "gpt":
            return [*self.first, *self.encode(text)][: self.context_length]
        ids = self.encode(text)[: self.context_length - 2]
        return [self.special_ids["[CLS]"], *ids, self.special_ids["[SEP]"]]


def model_options(about: str | None, benchmark: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks that adapt checkpoints."""
    parser = command_line(about, benchmark)
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="MODEL",
        help="gpt-small, bert-small, or a folder that course_pkg.train wrote; may come repeatedly",
    )
    parser.add_argument("--n-epochs", type=int, default=2, help="passes over the examples [2]")
    return parser


def collate(readings: Sequence[Reading]) -> Batch:
    """Pad readings to a batch of keyword arguments of the models in `models.adaptation`."""
    ids, lengths = pad_rows([reading.ids for reading in readings], 0)
    if isinstance(readings[0].target, list):
        targets, _ = pad_rows([reading.target for reading in readings], IGNORE)
    else:
        targets = torch.tensor([reading.target for reading in readings])
    batch = {"ids": ids, "lengths": lengths, "targets": targets}
    if readings[0].segments is not None:
        batch["segments"], _ = pad_rows([reading.segments for reading in readings], 0)
    return batch


def fine_tune(
    model: nn.Module,
    examples: Sequence[Any],
    *,
    n_epochs: int,
    lr: float,
    device: str = "cpu",
    collate: Collate = collate,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    n_accumulate: int = 1,
) -> None:
    """Train whatever of a model may train, on examples batched by length.

    Args:
        n_accumulate: how many parts a batch is computed in: so much less memory, the same gradient.

    Raises:
        ValueError: if a batch does not have so many equal parts.
    """
    whole_numbers(batch_size=batch_size, n_accumulate=n_accumulate)
    if batch_size % n_accumulate:
        raise ValueError(f"n_accumulate is {n_accumulate}; it must divide batch_size, {batch_size}")
    batches = example_batches(
        examples,
        lambda rows, generator: collate(rows),
        batch_size // n_accumulate,
        seed=seed,
        lengths=[example.n_tokens for example in examples],
    )
    n_steps = math.ceil(n_epochs * len(batches) / n_accumulate)
    config = TrainerConfig(
        n_steps=n_steps,
        lr=lr,
        n_warmup=n_steps // 10,
        n_accumulate=n_accumulate,
        weight_decay=0.01,
        precision="bfloat16",  # nearly twice as fast where the processor knows it
        fused=True,
        log_every=n_steps,
        checkpoint_every=n_steps,
        seed=seed,
        spike_factor=math.inf,  # of batches with few labels some are much harder than most
    )
    Trainer(model, batches, config, device=device, show_progress=sys.stderr.isatty()).train()
    model.eval()


def batches_to_read(
    examples: Sequence[Any], device: str, collate: Collate = collate
) -> Iterator[tuple[list[int], Batch]]:
    """Yield places and batches of examples of like length, for a model that only reads."""
    lengths = torch.tensor([example.n_tokens for example in examples])
    for places in lengths.argsort(stable=True).split(4 * BATCH_SIZE):
        batch = collate([examples[place] for place in places.tolist()])
        yield places.tolist(), {name: rows.to(device) for name, rows in batch.items()}


@torch.no_grad()
def predict(
    model: nn.Module, examples: Sequence[Any], device: str = "cpu", collate: Collate = collate
) -> list[Any]:
    """Return the likeliest class of each example; of a tagger, a list with one for each token."""
    model.eval()
    guesses: list[Any] = [None] * len(examples)
    for places, batch in batches_to_read(examples, device, collate):
        rows = model(**batch)[0].argmax(dim=-1).tolist()
        for place, row in zip(places, rows, strict=True):
            guesses[place] = row
    return guesses


@torch.no_grad()
def vectors(classifier: TextClassifier, readings: Sequence[Reading], device: str = "cpu") -> Tensor:
    """Return the vector that stands for each text."""
    classifier.eval()
    found = torch.empty(len(readings), classifier.features.d_model, device=device)
    for places, batch in batches_to_read(readings, device):
        del batch["targets"]
        found[places] = classifier.features.of_text(**batch)
    return found


def fit_probe(
    classifier: TextClassifier,
    readings: Sequence[Reading],
    *,
    penalty: float = 1e-4,
    device: str = "cpu",
) -> None:
    """Fit the layer of a frozen classifier: its inputs never change, so they are computed once.

    A convex problem, solved by L-BFGS: no learning rate, no order of examples.

    Args:
        penalty: of the squared weights, beside the mean loss in nats.
    """
    classifier.to(device)
    inputs = vectors(classifier, readings, device)
    targets = torch.tensor([reading.target for reading in readings], device=device)
    output = classifier.output
    optimizer = torch.optim.LBFGS(
        output.parameters(), max_iter=200, line_search_fn="strong_wolfe", tolerance_change=1e-7
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(output(inputs), targets)
        value = value + penalty * output.weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
