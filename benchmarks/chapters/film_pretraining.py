"""Does it help to go on pretraining on the task's own text before fine-tuning? On film reviews.

    COURSE_DATA=DIR python -m benchmarks.chapters.film_pretraining [--record FILE] [--only ARM]

Gururangan et al. 2020 call it task-adaptive pretraining. bert-small goes on restoring masked
tokens of the 6,920 training sentences of SST-2 (Socher et al. 2013), whose labels it does not see.
Then everything is fine-tuned, the mean of all tokens read, with 20 to 6,920 labels, of which each
of five seeds draws its own:
  scratch       the structure with new weights
  bert-small    as it ships
  films read    after that text
  naive Bayes   words, or words and pairs of neighbours; its smoothing
400 validation sentences choose every setting, with the first seed; 1,821 test sentences report.
With all labels there are `films read` and naive Bayes alone. Then the same sentences with all their
parts, 67,349 labelled phrases, as GLUE has them, chosen on the 872 validation sentences: `films
read`, `scratch` and naive Bayes. Then MR (Pang and Lee 2005), ten-fold, one seed a fold: `films
read`, at a rate set beforehand. SST-2's sentences are MR's, so of most of the sentences that it is
asked about it has read the text, though not the label. A begun record is gone on with. DIR must
have sst2/ and mr/; the whole takes some two hours of one core.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.chapters.backbones import BATCH_SIZE, Pretrained, Reading, fine_tune, predict
from benchmarks.chapters.backbones import LR as FIXED
from benchmarks.chapters.label_curve import FewLabels, LabelRecording, naive_bayes
from benchmarks.papers.movie_reviews import N_FOLDS
from benchmarks.weights.pretrain import hidden_tokens
from benchmarks.weights.pretrained_rows import digest
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models.adaptation import TextClassifier
from course_pkg.text.batches.pretraining import masked_batches
from course_pkg.text.corpora.labelled_data import load_task
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import TrainedModel, save_model
from course_pkg.weights.pretrained import load_pretrained

RUN = Path("runs/films-read")
SEEDS = tuple(range(5))
N_EPOCHS = {20: 20, 100: 12, 500: 8, 6920: 2}
PHRASES = {67_349: 2}
"""All phrases, and how often they are read."""
RATES = (1e-4, 3e-4, 1e-3)
SMOOTHING = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
N_VALID = 400
PHRASE_ARMS = ("films read", "scratch")
ARMS = (
    *("naive Bayes", "films read", "bert-small", "scratch", "MR, ten-fold: films read"),
    *(f"phrases: {arm}" for arm in ("naive Bayes", *PHRASE_ARMS)),
)
N_UPDATES, MASK_RATE, LR = 800, 0.3, 5e-4
"""Of the pretraining: some fifteen readings of the text."""


def further_pretrained(trained: TrainedModel, texts: Sequence[str], held_out: Sequence[str]) -> Any:
    """Go on with masked LM on a text; return nats per hidden token of another one, in two."""
    tokenizer: Any = trained.tokenizer
    encode = tokenizer.to_fast().encode

    def stream(documents: Sequence[str]) -> torch.Tensor:
        return torch.tensor([i for text in documents for i in (*encode(text), tokenizer.eos_id)])

    def loss() -> float:
        nats, _, n_hidden = hidden_tokens(trained, stream(held_out), MASK_RATE)
        return round(nats / n_hidden, 4)

    batches = masked_batches(
        stream(texts),
        trained.model.context_length,
        BATCH_SIZE,
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
        rate=MASK_RATE,
        seed=0,
    )
    config = TrainerConfig(
        n_steps=N_UPDATES,
        lr=LR,
        n_warmup=N_UPDATES // 20,
        precision="bfloat16",
        fused=True,
        log_every=N_UPDATES,
        checkpoint_every=N_UPDATES,
    )
    trained.model.eval()
    before = loss()
    Trainer(trained.model, batches, config, show_progress=True).train()
    trained.model.eval()
    return {
        "n_tokens": len(stream(texts)),
        "n_updates": N_UPDATES,
        "n_read": round(N_UPDATES / len(batches), 1),
        "nats_before": before,
        "nats_after": loss(),
    }


def fine_tuned(
    model: Pretrained,
    readings: Sequence[Reading],
    n_classes: int,
    n_epochs: int,
    lr: float,
    seed: int,
    *,
    is_pretrained: bool = True,
) -> TextClassifier:
    """Train a copy of a model, and a new layer on the mean of all tokens."""
    generator = torch.Generator().manual_seed(seed)
    backbone = model.copy(is_pretrained=is_pretrained, seed=seed)
    made = TextClassifier(backbone, n_classes, pooling="mean", generator=generator)
    fine_tune(made, readings, n_epochs=n_epochs, lr=lr, seed=seed, batch_size=16)
    return made


def percent_right(made: TextClassifier, readings: Sequence[Reading]) -> float:
    """Return the accuracy, in percent."""
    return 100 * accuracy(predict(made, readings), [reading.target for reading in readings])


def few_labels(
    task: FewLabels,
    model: Pretrained,
    n_labels: int,
    *,
    is_pretrained: bool,
) -> dict[str, Any]:
    """Fine-tune with so many labels; the first seed chooses the rate."""
    valid, test = task.read(model, task.valid), task.read(model, task.test)

    def run(lr: float, seed: int) -> TextClassifier:
        readings = task.read(model, task.drawn(n_labels, seed))
        n_epochs = task.n_epochs[n_labels]
        return fine_tuned(
            model, readings, len(task.labels), n_epochs, lr, seed, is_pretrained=is_pretrained
        )

    first = {lr: run(lr, SEEDS[0]) for lr in RATES}
    by_rate = {lr: percent_right(made, valid) for lr, made in first.items()}
    best = max(by_rate, key=by_rate.__getitem__)
    found = [first[best], *(run(best, seed) for seed in SEEDS[1:])]
    return {
        "setting": {"lr": best},
        "valid_accuracy_by_rate": {f"{lr:g}": score for lr, score in by_rate.items()},
        "valid_accuracy": [by_rate[best], *(percent_right(made, valid) for made in found[1:])],
        "test_accuracy": [percent_right(made, test) for made in found],
    }


def counted_words(task: FewLabels, n_labels: int) -> dict[str, Any]:
    """Measure naive Bayes with so many labels."""

    def score(setting: tuple[int, float], seed: int, records: Sequence[Any]) -> float:
        return naive_bayes(task, task.drawn(n_labels, seed), records, *setting)

    best = max(
        ((longest, k) for longest in (1, 2) for k in SMOOTHING),
        key=lambda setting: score(setting, SEEDS[0], task.valid),
    )
    valid, test = ([score(best, seed, part) for seed in SEEDS] for part in (task.valid, task.test))
    setting = {"longest": best[0], "k": best[1]}
    return {"setting": setting, "valid_accuracy": valid, "test_accuracy": test}


def ten_folds(model: Pretrained, lr: float) -> dict[str, Any]:
    """Fine-tune on nine tenths of MR and ask the tenth, ten times."""
    task = load_task("mr", source="local")
    records = task.train + task.valid + task.test
    readings = [Reading(model.read(r.text), task.labels.index(r.label or "")) for r in records]
    parts = torch.randperm(len(records), generator=torch.Generator().manual_seed(0)).chunk(N_FOLDS)
    found = []
    for place, test in enumerate(parts):
        train = torch.cat([part for other, part in enumerate(parts) if other != place])
        examples = [readings[i] for i in train.tolist()]
        made = fine_tuned(model, examples, len(task.labels), N_EPOCHS[6920], lr, seed=place)
        found.append(percent_right(made, [readings[i] for i in test.tolist()]))
    return {"setting": {"lr": lr}, "test_accuracy": found}


def films_read(task: FewLabels, recording: LabelRecording, folder: Path) -> Pretrained:
    """Return bert-small after the task's text, read once for each record."""
    if "pretraining" not in recording.content or not folder.exists():
        trained = load_pretrained("bert-small")
        texts, held_out = ([r.text for r in split] for split in (task.train, task.valid))
        recording.keep("pretraining", further_pretrained(trained, texts, held_out))
        structure = asdict(trained.model.config)
        save_model(
            folder,
            trained.model,
            trained.tokenizer,
            kind="bert",
            structure=structure,
            card="# bert-small, films read\n",
        )
    return Pretrained(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of film reviews labelled rightly, by seed; of MR, by fold",
        n_epochs=N_EPOCHS,
        seeds=SEEDS,
        weights={"bert-small": digest("bert-small")},
        arms=ARMS,
    )
    task = FewLabels("sst2_sentences", N_VALID, N_EPOCHS)
    shipped = Pretrained("bert-small")
    is_read = any(recording.is_wanted(arm) for arm in ARMS if "films read" in arm)
    adapted = films_read(task, recording, RUN) if is_read else shipped
    arms = {
        "films read": (adapted, True),
        "bert-small": (shipped, True),
        "scratch": (shipped, False),
    }
    for n_labels in N_EPOCHS:
        if recording.lacks("naive Bayes", n_labels):
            recording.add("naive Bayes", n_labels, counted_words(task, n_labels))
        for arm, (model, is_pretrained) in arms.items():
            is_too_long = arm != "films read" and n_labels == max(N_EPOCHS)
            if recording.lacks(arm, n_labels) and not is_too_long:
                result = few_labels(task, model, n_labels, is_pretrained=is_pretrained)
                recording.add(arm, n_labels, result)
    phrases, (n_phrases,) = FewLabels("sst2", 872, PHRASES), PHRASES
    if recording.lacks("phrases: naive Bayes", n_phrases):
        recording.add("phrases: naive Bayes", n_phrases, counted_words(phrases, n_phrases))
    for arm in PHRASE_ARMS:
        model, is_pretrained = arms[arm]
        if recording.lacks(f"phrases: {arm}", n_phrases):
            result = few_labels(phrases, model, n_phrases, is_pretrained=is_pretrained)
            recording.add(f"phrases: {arm}", n_phrases, result)
    arm = "MR, ten-fold: films read"
    if recording.lacks(arm, 10_662):
        recording.add(arm, 10_662, ten_folds(adapted, FIXED["full fine-tuning"]))


if __name__ == "__main__":
    main()
