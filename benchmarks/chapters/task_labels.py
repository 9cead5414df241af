"""What others make of the labels that SmolLM2 learns from: TREC's questions and RTE's pairs.

    COURSE_DATA=DIR python -m benchmarks.chapters.task_labels [--record FILE]

The texts, draws of labels and 200 validation texts are those of
`benchmarks.chapters.published_labels`, which asks SmolLM2, and so are the 400 questions of TREC's
test (Li and Roth 2002) and RTE's 277 pairs to develop with that report. Five seeds, each with its
own 20 or 100 labels:
  naive Bayes             on words, those of both texts of a pair; its smoothing. RTE
  bert-small              everything is trained; its structure with new weights, too. RTE
  MiniLM, full, LoRA      everything is trained, or rank 8 on all linear layers
  MiniLM, new layer only  fitted to its optimum; its penalty
A network reads [CLS] text [SEP], or [CLS] premise [SEP] hypothesis [SEP] with its two segments, and
gives the mean of its tokens to a new layer. Validation chooses every setting: with the first seed
what is trained step by step, with all seeds the rest. A begun record is gone on with. DIR must have
trec/ and rte/; MiniLM comes by `make published`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.chapters.backbones import Pretrained, Reading, fine_tune, predict, vectors
from benchmarks.chapters.label_curve import (
    SMOOTHING,
    FewLabels,
    LabelRecording,
    frozen_accuracy,
    naive_bayes,
)
from benchmarks.chapters.published_labels import (
    MINILM_EPOCHS,
    MINILM_LORA,
    MINILM_LORA_RATES,
    MINILM_RATES,
    PENALTIES,
    SEEDS,
    Few,
    drawn,
    percent,
)
from benchmarks.weights.pretrained_rows import digest
from course_pkg.models.adaptation import TextClassifier, add_lora
from course_pkg.text.batches.masking import SentencePair, join_pair
from course_pkg.text.corpora.labelled_data import Labelled
from course_pkg.weights.pretrained import SHA256

ARMS = (
    ("trec", "MiniLM, new layer only"),
    ("rte", "naive Bayes"),
    ("rte", "MiniLM, new layer only"),
    ("rte", "bert-small, scratch"),
    ("rte", "bert-small, full"),
    ("trec", "MiniLM, full"),
    ("trec", "MiniLM, LoRA"),
    ("rte", "MiniLM, full"),
    ("rte", "MiniLM, LoRA"),
)
"""What `benchmarks.chapters.label_curve` says of TREC is not measured again."""
N_LABELS = (20, 100)
RATES = {
    "bert-small, scratch": (3e-4, 1e-3),
    "bert-small, full": (1e-4, 3e-4, 1e-3),
    "MiniLM, full": MINILM_RATES,
    "MiniLM, LoRA": MINILM_LORA_RATES,
}


def readings(model: Pretrained, task: FewLabels, records: Sequence[Labelled]) -> list[Reading]:
    """Lay out texts, or pairs, as the model knows them."""
    found = []
    for record, target in zip(records, task.targets(records), strict=True):
        if record.second is None:
            found.append(Reading(model.read(record.text), target))
            continue
        pair = SentencePair(model.encode(record.text), model.encode(record.second), is_next=True)
        ids, segments = join_pair(
            pair,
            cls_id=model.special_ids["[CLS]"],
            sep_id=model.special_ids["[SEP]"],
            longest=model.context_length,
        )
        found.append(Reading(ids, target, segments))
    return found


def chosen(
    settings: Sequence[Any], run: Callable[[Any, int, str], float], name: str
) -> dict[str, Any]:
    """Choose on validation texts, all seeds together; return that and what the test says."""
    best = max(settings, key=lambda setting: sum(run(setting, seed, "valid") for seed in SEEDS))
    return {
        "setting": {name: best},
        "drawn_accuracy": [run(best, seed, "drawn") for seed in SEEDS],
    }


def counting(task: FewLabels, n_labels: int) -> dict[str, Any]:
    """Measure naive Bayes on the words of a text, or of both texts of a pair."""

    def joined(records: Sequence[Labelled]) -> list[Labelled]:
        return [Labelled(f"{r.text} {r.second or ''}", r.label) for r in records]

    parts = {"valid": joined(task.valid), "drawn": joined(drawn(task))}

    def run(k: float, seed: int, part: str) -> float:
        return naive_bayes(task, joined(task.drawn(n_labels, seed)), parts[part], 1, k)

    return chosen(SMOOTHING, run, "k")


def new_layer(task: FewLabels, model: Pretrained, n_labels: int) -> dict[str, Any]:
    """Fit a new layer on vectors that do not move."""
    classifier = TextClassifier(model.copy(), len(task.labels), is_frozen=True, pooling="mean")

    def of(records: Sequence[Labelled]) -> tuple[torch.Tensor, torch.Tensor]:
        found = vectors(classifier, readings(model, task, records))
        return found, torch.tensor(task.targets(records))

    known = {seed: of(task.drawn(n_labels, seed)) for seed in SEEDS}
    asked = {"valid": of(task.valid), "drawn": of(drawn(task))}

    def run(penalty: float, seed: int, part: str) -> float:
        return frozen_accuracy(*known[seed], *asked[part], len(task.labels), penalty)

    return chosen(PENALTIES, run, "penalty")


def trained(task: FewLabels, model: Pretrained, arm: str, n_labels: int) -> dict[str, Any]:
    """Train step by step; the first seed chooses the rate."""

    def made(lr: float, seed: int) -> TextClassifier:
        generator = torch.Generator().manual_seed(seed)
        backbone = model.copy(is_pretrained="scratch" not in arm, seed=seed)
        if "LoRA" in arm:
            add_lora(backbone, 8, 16.0, targets=MINILM_LORA, generator=generator)
        classifier = TextClassifier(backbone, len(task.labels), pooling="mean", generator=generator)
        examples = readings(model, task, task.drawn(n_labels, seed))
        fine_tune(classifier, examples, n_epochs=MINILM_EPOCHS[n_labels], lr=lr, seed=seed)
        return classifier

    def score(classifier: TextClassifier, records: Sequence[Labelled]) -> float:
        with torch.autocast("cpu", torch.bfloat16):
            guesses = predict(classifier, readings(model, task, records))
        return percent(torch.tensor(guesses), torch.tensor(task.targets(records)))

    first = {lr: made(lr, SEEDS[0]) for lr in RATES[arm]}
    valid = {lr: score(classifier, task.valid) for lr, classifier in first.items()}
    best = max(valid, key=lambda lr: valid[lr])
    asked = drawn(task)
    return {
        "setting": {"lr": best},
        "valid_accuracy_by_rate": {f"{lr:g}": right for lr, right in valid.items()},
        "drawn_accuracy": [
            score(first[best], asked),
            *(score(made(best, seed), asked) for seed in SEEDS[1:]),
        ],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of TREC's questions and RTE's pairs labelled rightly, by seed",
        n_epochs={n: MINILM_EPOCHS[n] for n in N_LABELS},
        weights={"bert-small": digest("bert-small"), "minilm": SHA256["all-MiniLM-L6-v2"]},
        seeds=SEEDS,
        arms=[f"{name}: {arm}" for name, arm in ARMS],
    )
    models = {"bert-small": Pretrained("bert-small"), "MiniLM": Pretrained("minilm")}
    tasks = {name: Few(name) for name in ("trec", "rte")}
    for name, arm in ARMS:
        model, task = models.get(arm.partition(",")[0]), tasks[name]
        for n_labels in N_LABELS:
            if not recording.lacks(f"{name}: {arm}", n_labels):
                continue
            if model is None:
                result = counting(task, n_labels)
            elif arm in RATES:
                result = trained(task, model, arm, n_labels)
            else:
                result = new_layer(task, model, n_labels)
            recording.add(f"{name}: {arm}", n_labels, result)


if __name__ == "__main__":
    main()
