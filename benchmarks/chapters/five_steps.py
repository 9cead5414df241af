"""Measure each step from the recurrent encoder–decoder to the transformer: what it loses and gains.

    python -m benchmarks.chapters.five_steps [--n-steps 800] [--record FILE]

Every model translates the same passages of one or two sentences. Each has its own learning rate,
the best of four on validation text; three other seeds are then trained at that rate and measured
on test text. Steps 3 to 5 are measured with sinusoidal positions as well. Greedy search translates
a passage without a mistake if and only if every word is the most probable one after the true words
before it; so one teacher-forced pass says which passages are right.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from benchmarks.records import Recording, command_line
from course_pkg.layers.cost import longest_chain
from course_pkg.models import IGNORE
from course_pkg.models.five_steps import FIVE_STEPS, FiveStepsTranslator, StepWiring
from course_pkg.text.batches import example_batches, translation_rows
from course_pkg.text.stories.translation import Translation, sample_passages
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

WIDTH, N_HEADS, BATCH_SIZE = 64, 4, 32
RATES = (0.001, 0.003, 0.01, 0.03)
SEEDS = (1, 2, 3)
N_TRAIN, N_HELD_OUT, LONGEST = 6000, 400, 2

Pair = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Task:
    """Passages as ids, and the vocabularies."""

    n_source: int
    n_target: int
    eos_id: int
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]

    @classmethod
    def sample(cls, n_train: int, n_held_out: int, longest: int) -> "Task":
        """Draw passages of 1 to `longest` sentences; the vocabularies are the training part's."""
        drawn = [
            sample_passages(n, longest=longest, seed=seed)
            for n, seed in ((n_train, 1), (n_held_out, 2), (n_held_out, 3))
        ]
        source, target = (
            WordTokenizer.train([" ".join(getattr(p, side)) for p in drawn[0]])
            for side in ("source", "target")
        )

        def pairs(passages: Sequence[Translation]) -> list[Pair]:
            return [
                (source.encode(" ".join(p.source)), target.encode(" ".join(p.target)))
                for p in passages
            ]

        sizes = source.vocab_size, target.vocab_size
        return cls(*sizes, target.eos_id, *(pairs(part) for part in drawn))


def arms() -> dict[str, StepWiring]:
    """Name each wiring by its step; "+ positions" where order is given back."""
    named = {str(number): wiring for number, wiring in enumerate(FIVE_STEPS)}
    with_positions = {
        f"{number} + positions": replace(wiring, has_positions=True)
        for number, wiring in enumerate(FIVE_STEPS)
        if not wiring.has_recurrent_decoder
    }
    return named | with_positions


def build(task: Task, wiring: StepWiring, seed: int = 0) -> FiveStepsTranslator:
    """Return a fresh model."""
    generator = torch.Generator().manual_seed(seed)
    return FiveStepsTranslator(
        wiring, task.n_source, task.n_target, WIDTH, N_HEADS, generator=generator
    )


def train(
    task: Task, wiring: StepWiring, lr: float, n_steps: int, seed: int
) -> FiveStepsTranslator:
    """Train a fresh model; the seed decides its weights and the order of the passages."""
    model = build(task, wiring, seed)
    batches = example_batches(
        task.train,
        lambda rows, generator: translation_rows(rows, task.eos_id),
        batch_size=BATCH_SIZE,
        seed=seed,
        lengths=[len(source) for source, _ in task.train],
    )
    config = TrainerConfig(
        n_steps,
        lr=lr,
        n_warmup=min(50, n_steps // 2),
        weight_decay=0.0,
        spike_factor=1e9,  # near a loss of zero, small steps look large
        log_every=50,
        fused=True,
    )
    Trainer(model, batches, config).train()
    return model.eval()


def judge(model: FiveStepsTranslator, pairs: Sequence[Pair], eos_id: int) -> tuple[float, Tensor]:
    """Return the loss in nats per target, and whether each passage is translated rightly."""
    rows = translation_rows(pairs, eos_id)
    with torch.no_grad():
        logits, loss = model(**rows)
    assert loss is not None
    is_right = (logits.argmax(dim=-1) == rows["targets"]) | (rows["targets"] == IGNORE)
    return float(loss), is_right.all(dim=1)


def serial_steps(task: Task, wiring: StepWiring, n_words: int) -> int:
    """Count operations in series between a passage of this length and its scores."""
    ids = torch.zeros(1, n_words, dtype=torch.int64)
    return longest_chain(build(task, wiring)(ids, ids)[0])


def measure(task: Task, wiring: StepWiring, n_steps: int) -> dict[str, Any]:
    """Tune one wiring on validation text, train three seeds, return its figures on test text."""
    tuning = {
        lr: judge(train(task, wiring, lr, n_steps, seed=0), task.valid, task.eos_id)[0]
        for lr in RATES
    }
    lr = min(tuning, key=lambda rate: (math.isnan(tuning[rate]), tuning[rate]))
    is_long = torch.tensor([target.count(target[-1]) > 1 for _, target in task.test])
    runs, seconds = [], []
    for seed in SEEDS:
        started = time.process_time()
        model = train(task, wiring, lr, n_steps, seed)
        seconds.append((time.process_time() - started) / n_steps)
        loss, right = judge(model, task.test, task.eos_id)
        runs.append(
            {
                "seed": seed,
                "test_perplexity": math.exp(loss),
                "right": right.float().mean().item(),
                "right_one_sentence": right[~is_long].float().mean().item(),
                "right_two_sentences": right[is_long].float().mean().item(),
            }
        )
    return {
        "lr": lr,
        "validation_loss_by_lr": {str(rate): loss for rate, loss in tuning.items()},
        "runs": runs,
        "n_parameters": sum(p.numel() for p in model.parameters()),
        "cpu_milliseconds_per_update": 1000 * min(seconds),
        "serial_steps": {str(n): serial_steps(task, wiring, n) for n in (16, 64)},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the wirings that are not recorded yet, and record each."""
    wirings = arms()
    parser = command_line(__doc__, __file__, arms=wirings)
    parser.add_argument("--n-steps", type=int, default=800, help="updates of each model")
    recording = Recording(parser, arguments)
    n_steps = recording.options.n_steps
    recording.begin(
        {"what": "share of test passages of one or two sentences translated without a mistake"},
        same={
            "n_steps": n_steps,
            "batch_size": BATCH_SIZE,
            "width": WIDTH,
            "n_heads": N_HEADS,
            "n_test": N_HELD_OUT,
        },
    )
    task = Task.sample(N_TRAIN, N_HELD_OUT, LONGEST)
    for name in recording.missing(wirings, within="rows"):
        recording.keep(name, measure(task, wirings[name], n_steps), within="rows")


if __name__ == "__main__":
    main()
