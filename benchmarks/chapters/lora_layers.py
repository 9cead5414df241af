"""What holds LoRA back with 1,600 labels: its rate, its size, or the layers that it changes?

    COURSE_DATA=DIR python -m benchmarks.chapters.lora_layers [--record FILE]

`bert-small` on TREC's questions, as in `benchmarks.chapters.label_curve`, with as many updates.
Three arms:
  queries and values, rank 8    as there (Hu et al. 2022)
  queries and values, rank 36   the control: as many new numbers as the next arm
  all layers, rank 8            the six linear layers of each block (Dettmers et al. 2023)
Each has its own rate, found on validation questions by the mean of three seeds, moving outwards
until none on either side is better. A record that was begun with the same
epochs and weights is gone on with. DIR must have trec/.
"""

import statistics
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from torch import Generator

from benchmarks.chapters.backbones import Pretrained, fine_tune, predict
from benchmarks.chapters.label_curve import N_EPOCHS, RATES, SEEDS, FewLabels, LabelRecording
from benchmarks.weights.pretrained_rows import digest
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models.adaptation import TextClassifier, add_lora

SOME = ("attention.query", "attention.value")
ALL = (*SOME, "attention.key", "attention.output", "feed_forward.expand", "feed_forward.contract")
ARMS = {
    "queries and values, rank 8": (SOME, 8),
    "queries and values, rank 36": (SOME, 36),
    "all layers, rank 8": (ALL, 8),
}
N_LABELS = (1600,)
FIRST_PLACE = 6  # in RATES: where the label curve's LoRA was best with 25 and 100 labels


def searched(
    run: Callable[[int], tuple[list[float], list[float]]], start: int
) -> tuple[int, dict[int, float]]:
    """Move outwards from a place in `RATES` until no neighbour is better; return it and all tried.

    Args:
        run: from a place to the validation and the test figures of all seeds.
    """
    tried: dict[int, float] = {}
    place = start
    while True:
        for near in (place, place - 1, place + 1):
            if near not in tried:
                tried[near] = statistics.fmean(run(near)[0])
        best = max(tried, key=lambda near: (tried[near], -abs(near - start)))
        if best == place:
            return place, tried
        place = best


def measured(task: FewLabels, model: Pretrained, arm: str, n_labels: int) -> dict[str, Any]:
    """Return an arm's figures at its best rate."""
    (targets, rank), n_trained = ARMS[arm], 0

    @cache
    def run(place: int) -> tuple[list[float], list[float]]:
        nonlocal n_trained
        figures: tuple[list[float], list[float]] = [], []
        for seed in SEEDS:
            generator = Generator().manual_seed(seed)
            backbone = model.copy(seed=seed)
            add_lora(backbone, rank=rank, targets=targets, generator=generator)
            made = TextClassifier(backbone, len(task.labels), generator=generator)
            fine_tune(
                made,
                task.read(model, task.drawn(n_labels, seed)),
                n_epochs=task.n_epochs[n_labels],
                lr=RATES[place],
                seed=seed,
                batch_size=16,
            )
            n_trained = sum(p.numel() for p in made.parameters() if p.requires_grad)
            for records, found in zip((task.valid, task.test), figures, strict=True):
                guesses = predict(made, task.read(model, records))
                found.append(100 * accuracy(guesses, task.targets(records)))
        return figures

    place, tried = searched(run, FIRST_PLACE)
    return {
        "setting": {"lr": RATES[place]},
        "valid_accuracy_by_rate": {f"{RATES[near]:.1g}": tried[near] for near in sorted(tried)},
        "test_accuracy": run(place)[1],
        "n_trained": n_trained,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of TREC's 500 test questions classified rightly, by seed",
        n_epochs={n: N_EPOCHS[n] for n in N_LABELS},
        weights={"bert-small": digest("bert-small")},
        arms=ARMS,
    )
    task, model = FewLabels(), Pretrained("bert-small")
    for n_labels in N_LABELS:
        for arm in ARMS:
            if recording.lacks(arm, n_labels):
                recording.add(arm, n_labels, measured(task, model, arm, n_labels))


if __name__ == "__main__":
    main()
