"""Is a film liked? Naive Bayes against small pretrained models, adapted in four ways.

    COURSE_DATA=DIR python -m benchmarks.papers.movie_reviews --model bert-small [--model gpt-small]
        [--n-epochs 2] [--n-train N] [--record FILE]

Two data sets of film reviews, with the protocol of each:
  mr    sentence polarity 1.0 (Pang and Lee 2005), 10,662 sentences without a published split. A
        digest of each sentence decides: nine tenths to learn from, one tenth to report on. Naive
        Bayes is also run ten-fold, as published.
  sst2  SST-2 as GLUE has it: 8,000 phrases drawn from the 67,349 of the training part, so that a
        CPU can do it; all 872 sentences of the development set are reported on.
With --n-train, N examples at most are drawn to learn from, for naive Bayes too.
Each model is trained from scratch (its structure, new weights), as a linear probe (only a new
layer), by LoRA (rank 8 on queries and values) and in full. BERTs are pooled by the mean of all
tokens, because masked tokens alone never trained [CLS]; GPTs are read at the last token. Nothing is
tuned on the data that is reported on. Differences to naive Bayes come with paired-bootstrap
intervals of 95 %. DIR must have mr/ and sst2/.
"""

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from benchmarks.chapters.backbones import (
    LR,
    Pretrained,
    Reading,
    fine_tune,
    fit_probe,
    model_options,
    predict,
    vectors,
)
from benchmarks.papers.published import Clock, Figure, or_exit, report
from course_pkg.evaluation.likelihood import paired_bootstrap
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models.adaptation import TextClassifier, add_lora, merge_lora
from course_pkg.models.transformer import count_parameters
from course_pkg.text.corpora.labelled_data import Labelled, list_tasks, load_task

TASKS = ("mr", "sst2")
METHODS = ("from scratch", "linear probe", "LoRA", "full fine-tuning")
POOLING = {"gpt": "summary", "bert": "mean"}
N_FOLDS, N_PHRASES = 10, 8000

OF_TEN_FOLDS = "Wang and Manning 2012, ten-fold"
PUBLISHED = {
    "mr": [
        Figure("CNN, nothing pretrained", None, 76.1, "Kim 2014, table 2, ten-fold"),
        Figure("CNN on pretrained word vectors", None, 81.5, "Kim 2014, table 2, ten-fold"),
    ],
    "sst2": [
        Figure("CNN, nothing pretrained", None, 82.7, "Kim 2014, table 2, test set"),
        Figure(
            "BERT-Mini, our BERT's shape", None, 85.9, "Turc et al. 2019, test set, 67k phrases"
        ),
        Figure("GPT-1", None, 91.3, "Devlin et al. 2019, table 1, test set, 67k phrases"),
        Figure("BERT-base", None, 93.5, "Devlin et al. 2019, table 1, test set, 67k phrases"),
    ],
}
"""For orientation: larger models or other texts, never the same experiment."""


@dataclass(frozen=True)
class Data:
    """A task's records to learn from and to report on."""

    name: str
    train: list[Labelled]
    test: list[Labelled]
    labels: tuple[str, ...]

    @classmethod
    def load(cls, name: str) -> "Data":
        """Load a task by the protocol that the module states."""
        task = load_task(name, source="local")
        if name == "mr":
            return cls(name, task.train + task.valid, task.test, task.labels)
        return cls(name, sample(task.train, N_PHRASES), task.valid, task.labels)


def sample(records: Sequence[Labelled], n: int) -> list[Labelled]:
    """Draw records without replacement, from a fixed seed."""
    places = torch.randperm(len(records), generator=torch.Generator().manual_seed(0))[:n]
    return [records[place] for place in places.tolist()]


def features(text: str, order: int) -> set[tuple[str, ...]]:
    """Return a text's n-grams of words up to an order; how often each occurs is not kept."""
    words = text.lower().split()
    return {
        tuple(words[start : start + n])
        for n in range(1, order + 1)
        for start in range(len(words) - n + 1)
    }


def naive_bayes(
    train: Sequence[Labelled], texts: Sequence[str], *, order: int = 1, alpha: float = 1.0
) -> list[str]:
    """Label texts by multinomial naive Bayes: Wang and Manning 2012, section 2.1.

    Args:
        alpha: added to every count.
    """
    counts: dict[str, Counter] = {record.label or "": Counter() for record in train}
    for record in train:
        counts[record.label or ""].update(features(record.text, order))
    n_features = len(set().union(*counts.values()))
    totals = {label: count.total() + alpha * n_features for label, count in counts.items()}
    priors = Counter(record.label for record in train)

    def score(label: str, found: set[tuple[str, ...]]) -> float:
        count, total = counts[label], totals[label]
        return math.log(priors[label]) + sum(
            math.log((count[feature] + alpha) / total) for feature in found
        )

    return [
        max(counts, key=lambda label: score(label, found))
        for found in (features(text, order) for text in texts)
    ]


def ten_fold(records: Sequence[Labelled], order: int) -> float:
    """Return naive Bayes' accuracy, in percent, over ten folds drawn from a seed."""
    places = torch.randperm(len(records), generator=torch.Generator().manual_seed(0))
    n_right = 0
    for fold in places.chunk(N_FOLDS):
        held_out = set(fold.tolist())
        train = [record for place, record in enumerate(records) if place not in held_out]
        test = [records[place] for place in held_out]
        guesses = naive_bayes(train, [record.text for record in test], order=order)
        n_right += sum(guess == record.label for guess, record in zip(guesses, test, strict=True))
    return 100 * n_right / len(records)


def readings(model: Pretrained, data: Data, records: Sequence[Labelled]) -> list[Reading]:
    """Return records as a model reads them."""
    number = {label: place for place, label in enumerate(data.labels)}
    return [Reading(model.read(record.text), number[record.label or ""]) for record in records]


def adapt(
    model: Pretrained, method: str, train: list[Reading], n_classes: int, n_epochs: int, device: str
) -> TextClassifier:
    """Adapt a copy of a pretrained model by one of `METHODS`."""
    generator = torch.Generator().manual_seed(0)
    backbone = model.copy(is_pretrained=method != "from scratch")
    if method == "LoRA":
        add_lora(backbone, generator=generator)
    classifier = TextClassifier(
        backbone,
        n_classes,
        is_frozen=method == "linear probe",
        pooling=POOLING[model.kind],
        generator=generator,
    )
    if method == "linear probe":
        fit_probe(classifier, train, device=device)
    else:
        fine_tune(classifier, train, n_epochs=n_epochs, lr=LR[method], device=device)
    return classifier


def merging_changes(classifier: TextClassifier, test: list[Reading], device: str) -> float:
    """Merge LoRA's layers into the matrices beside them; return the largest change of a vector."""
    before = vectors(classifier, test, device)
    merge_lora(classifier)
    return float((vectors(classifier, test, device) - before).abs().max())


def compare(
    data: Data, models: Sequence[Pretrained], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return a row for naive Bayes and for each model adapted in each way."""
    gold = [record.label for record in data.test]
    clock = Clock("cpu")
    guesses = naive_bayes(data.train, [record.text for record in data.test])
    floor = [float(guess == label) for guess, label in zip(guesses, gold, strict=True)]
    rows: list[dict[str, Any]] = [
        {
            "data": data.name,
            "model": "naive Bayes, single words",
            "accuracy": 100 * accuracy(guesses, gold),
            "seconds": clock.seconds(),
        }
    ]
    for model in models:
        train, test = (readings(model, data, part) for part in (data.train, data.test))
        for method in METHODS:
            clock = Clock(options.device)
            classifier = adapt(
                model, method, train, len(data.labels), options.n_epochs, options.device
            )
            n_trained = count_parameters(classifier)
            guesses = [data.labels[place] for place in predict(classifier, test, options.device)]
            right = [float(guess == label) for guess, label in zip(guesses, gold, strict=True)]
            row = {
                "data": data.name,
                "model": f"{model.name}, {method}",
                "accuracy": 100 * accuracy(guesses, gold),
                "seconds": clock.seconds(),
                "n_trained": n_trained,
                "above_naive_bayes": asdict(paired_bootstrap(right, floor)),
            }
            if method == "LoRA":
                row["merging_changes"] = merging_changes(classifier, test, options.device)
            rows.append(row)
            print(f"  {data.name}: {row['model']:45} {row['accuracy']:.1f}", flush=True)
    return rows


def line(row: dict[str, Any]) -> Figure:
    """Turn a row into a line of the table."""
    about = f"{row['seconds'] / 60:.1f} minutes"
    if "above_naive_bayes" in row:
        interval = row["above_naive_bayes"]
        about = (
            f"{row['n_trained']:,} parameters trained, {about}; "
            f"{100 * interval['difference']:+.1f} to naive Bayes "
            f"({100 * interval['low']:+.1f} to {100 * interval['high']:+.1f})"
        )
    return Figure(f"{row['data']}: {row['model']}", row["accuracy"], None, about)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every row beside the published figures and, on request, record them."""
    parser = model_options(__doc__, __file__)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--n-train", type=int, metavar="N", help="learn from N examples at most")
    options = parser.parse_args(arguments)
    models = [Pretrained(folder) for folder in options.model]
    figures, rows, parts = [], [], {}
    for name in options.tasks:
        with or_exit():
            data = Data.load(name)
        if name == "mr":
            for order, published, aim in ((1, 77.9, 77.0), (2, 79.0, None)):
                ours = ten_fold(data.train + data.test, order)
                subject = f"mr: naive Bayes, n-grams up to {order}, ten-fold"
                figures.append(Figure(subject, ours, published, OF_TEN_FOLDS, aim))
        if options.n_train is not None:
            data = replace(data, train=sample(data.train, options.n_train))
        parts[name] = {
            "about": next(f"{t.description} ({t.size})" for t in list_tasks() if t.name == name),
            "n_train": len(data.train),
            "n_test": len(data.test),
        }
        compared = compare(data, models, options)
        rows += compared
        figures += map(line, compared)
        figures += [
            Figure(f"{name}: {f.subject}", None, f.published, f.source) for f in PUBLISHED[name]
        ]
    report(
        figures,
        "Accuracy in percent on film reviews; our models are small (see their cards).",
        is_higher_better=True,
        module="benchmarks.papers.movie_reviews",
        options=options,
        arguments=arguments,
        details={"rows": rows, "data": parts, "n_epochs": options.n_epochs},
    )


if __name__ == "__main__":
    main()
