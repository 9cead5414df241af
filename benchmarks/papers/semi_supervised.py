"""Pretrain an LSTM as a language model, then teach it to label: Dai and Le 2015, in small.

    python -m benchmarks.papers.semi_supervised {reviews,films} [--record FILE]

A language model reads sentences without their labels. Then a classifier is trained on some of the
labels: from random weights, or from the language model's. For each number of labels each of the two
has its own learning rate, searched on validation sentences, and stops at its best epoch there;
every seed draws other labelled sentences.

reviews   generated sentences whose best possible accuracy is known; two minutes of one core.
films     the 6,920 sentences of SST-2, from sst2/ in COURSE_DATA; five minutes.
"""

import copy
import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.records import Recording, command_line
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.text.batches import example_batches, next_token_rows, pad_rows
from course_pkg.text.corpora import load_task
from course_pkg.text.corpora.labelled_data import Labelled
from course_pkg.text.stories.tasks import Review, Reviews
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

BATCH_SIZE = 32


@dataclass(frozen=True)
class Settings:
    """How one kind of text is learned.

    Attributes:
        n_epochs: of the classifier, by number of labels.
        rates: among which each start's own is chosen.
        tuned_on: how many seeds choose the rate, by their mean.
    """

    width: int
    dropout: float
    n_epochs_lm: int
    lr_lm: float
    n_epochs: Mapping[int, int]
    rates: Sequence[float]
    seeds: Sequence[int]
    tuned_on: int


SETTINGS = {
    "reviews": Settings(
        width=48,
        dropout=0.0,
        n_epochs_lm=3,
        lr_lm=1e-2,
        n_epochs={25: 80, 50: 60, 100: 40, 200: 20},
        rates=(3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0),
        seeds=(0, 1, 2, 3, 4),
        tuned_on=5,
    ),
    "films": Settings(
        width=128,
        dropout=0.25,
        n_epochs_lm=4,
        lr_lm=5e-3,
        n_epochs={200: 20, 2000: 5},
        rates=(1e-3, 3e-3, 1e-2),
        seeds=(0, 1, 2),
        tuned_on=1,
    ),
}


@dataclass(frozen=True)
class Sentences:
    """Sentences in ids, each with its label: 1 for positive, 0 for negative."""

    ids: list[list[int]]
    labels: Tensor

    @classmethod
    def of(cls, records: Sequence[Labelled | Review], words: WordTokenizer) -> "Sentences":
        """Encode some records."""
        labels = torch.tensor([record.label in ("positive", 1) for record in records]).long()
        return cls([words.encode(record.text) for record in records], labels)


class Classifier(nn.Module):
    """A label from the LSTM's output at the last word: Dai and Le 2015, section 2."""

    def __init__(self, backbone: RecurrentLM, generator: torch.Generator) -> None:
        super().__init__()
        self.backbone = backbone
        self.output = nn.Linear(backbone.stack.d_output, 2)
        nn.init.normal_(self.output.weight, std=0.02, generator=generator)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Score both labels."""
        outputs, _ = self.backbone.read(ids)
        scores: Tensor = self.output(outputs[torch.arange(len(ids)), lengths - 1])
        return scores


def new_model(vocab_size: int, settings: Settings, seed: int) -> RecurrentLM:
    """Return the LSTM with random weights."""
    width, generator = settings.width, torch.Generator().manual_seed(seed)
    return RecurrentLM(
        vocab_size, width, width, dropout=settings.dropout, is_tied=True, generator=generator
    )


def pretrain(
    model: RecurrentLM, sentences: Sentences, settings: Settings, eos_id: int, seed: int
) -> RecurrentLM:
    """Teach an LSTM to predict each next word, in place."""
    batches = example_batches(
        sentences.ids,
        lambda rows, _: next_token_rows(rows, eos_id),
        BATCH_SIZE,
        seed=seed,
        lengths=[len(row) for row in sentences.ids],
    )
    n_steps = settings.n_epochs_lm * len(batches)
    config = TrainerConfig(
        n_steps, lr=settings.lr_lm, n_warmup=n_steps // 10, fused=True, seed=seed
    )
    Trainer(model, batches, config).train()
    return model


@torch.no_grad()
def accuracy(model: Classifier, sentences: Sentences) -> float:
    """Return the share of right labels, in percent."""
    model.eval()
    n_right = 0
    for start in range(0, len(sentences.ids), 256):
        ids, lengths = pad_rows(sentences.ids[start : start + 256], 0)
        guesses = model(ids, lengths).argmax(dim=-1)
        n_right += int((guesses == sentences.labels[start : start + 256]).sum())
    return 100 * n_right / len(sentences.ids)


def teach(
    backbone: RecurrentLM,
    train: Sentences,
    valid: Sentences,
    *,
    n_labels: int,
    n_epochs: int,
    lr: float,
    seed: int,
) -> tuple[float, Classifier]:
    """Train on some labels; return the best epoch's validation accuracy and its classifier."""
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(train.ids), generator=generator)[:n_labels]
    model = Classifier(copy.deepcopy(backbone), generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    best: tuple[float, Classifier] = (-1.0, model)
    torch.manual_seed(seed)  # of dropout
    for _ in range(n_epochs):
        model.train()
        for places in chosen[torch.randperm(n_labels, generator=generator)].split(BATCH_SIZE):
            ids, lengths = pad_rows([train.ids[place] for place in places.tolist()], 0)
            loss = nn.functional.cross_entropy(model(ids, lengths), train.labels[places])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        reached = accuracy(model, valid)
        if reached > best[0]:
            best = reached, copy.deepcopy(model)
    return best


def load(name: str) -> Sequence[Sequence[Labelled | Review]]:
    """Return labelled sentences to learn from, to choose by and to report on."""
    if name == "films":
        task = load_task("sst2_sentences", source="local")
        return task.train, task.valid, task.test
    return [Reviews().sample(n, seed=seed) for seed, n in enumerate((6000, 500, 2000), 1)]


def measure(name: str) -> dict[str, Any]:
    """Return accuracies from random and from pretrained weights, by number of labels."""
    settings, splits = SETTINGS[name], load(name)
    words = WordTokenizer.train(
        [record.text for record in splits[0]], min_count=5 if name == "films" else 1
    )
    train, valid, test = (Sentences.of(records, words) for records in splits)
    fresh = [new_model(words.vocab_size, settings, seed) for seed in settings.seeds]
    starts = {
        "random": fresh,
        "language model": [
            pretrain(copy.deepcopy(model), train, settings, words.eos_id, seed)
            for seed, model in zip(settings.seeds, fresh, strict=True)
        ],
    }
    runs = []
    for (n_labels, n_epochs), (start, backbones) in product(
        settings.n_epochs.items(), starts.items()
    ):

        @functools.cache
        def run(
            seed: int,
            lr: float,
            n_labels: int = n_labels,
            n_epochs: int = n_epochs,
            backbones: Sequence[RecurrentLM] = tuple(backbones),
        ) -> tuple[float, Classifier]:
            return teach(
                backbones[seed],
                train,
                valid,
                n_labels=n_labels,
                n_epochs=n_epochs,
                lr=lr,
                seed=seed,
            )

        tuning = settings.seeds[: settings.tuned_on]
        tried = {lr: statistics.mean(run(seed, lr)[0] for seed in tuning) for lr in settings.rates}
        lr = max(tried, key=tried.__getitem__)
        found = [accuracy(run(seed, lr)[1], test) for seed in settings.seeds]
        runs.append(
            {
                "start": start,
                "n_labels": n_labels,
                "lr": lr,
                "valid_accuracy_by_rate": {f"{lr:g}": reached for lr, reached in tried.items()},
                "test_accuracy": found,
            }
        )
        mean, spread = statistics.mean(found), statistics.stdev(found)
        print(f"{n_labels:5} {start:15} lr {lr:g}: {mean:.1f} ± {spread:.1f}", flush=True)
    return {
        "what": f"percent of {len(test.ids):,} sentences labelled rightly, by seed",
        "n_sentences": len(train.ids),
        "n_words": sum(len(row) for row in train.ids),
        "vocab_size": words.vocab_size,
        "seeds": settings.seeds,
        "runs": runs,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and, on request, record."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("name", choices=SETTINGS, help="which sentences")
    recording = Recording(parser, arguments)
    recording.begin({})
    recording.finish(measure(recording.options.name))


if __name__ == "__main__":
    main()
