"""Compare an Elman network trained with and without clipping, each at its own best rate.

    python -m benchmarks.chapters.clipping [--record FILE]

The network begins with a recurrent matrix of spectral radius 1.2 and is trained by gradient descent
with momentum: the trouble that the chapter on recurrent networks asks for. As in
`benchmarks.chapters.optimizers`, rates are powers of two times 0.001; an arm's rate is the one with
the lowest loss on validation stories for seed 0, both its neighbours are tried, then two more
seeds. A minute of one core.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch

from benchmarks.chapters.optimizers import SEEDS, Stories, load, study
from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.layers.recurrent import ElmanCell, set_spectral_radius
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.training.trainer import Trainer, TrainerConfig, TrainingDivergedError

RADIUS, D_EMBEDDING, D_HIDDEN, BATCH_SIZE = 1.2, 32, 64, 16


@dataclass(frozen=True)
class Arm:
    """One limit of the gradient's length.

    Attributes:
        first: exponent of the first rate that is tried, 0.001 times that power of two.
    """

    clip_norm: float | None
    first: int = 8
    n_steps: int = 300


ARMS = {
    "not clipped": Arm(None, first=6),
    "clipped at 1": Arm(1.0),
    "clipped at 0.25": Arm(0.25, first=9),
}


def final_loss(stories: Stories, arm: Arm, lr: float, seed: int) -> float:
    """Train, and return nats per token on validation stories; infinite if the run broke."""
    model = RecurrentLM(
        stories.vocab_size,
        D_EMBEDDING,
        D_HIDDEN,
        cell=ElmanCell,
        generator=torch.Generator().manual_seed(seed),
    )
    set_spectral_radius(model.stack.kernel.weight_hh_l0, RADIUS)
    batches = example_batches(
        stories.train,
        lambda rows, generator: next_token_rows(rows, stories.eos_id),
        BATCH_SIZE,
        seed=seed,
        lengths=[len(story) for story in stories.train],
    )
    config = TrainerConfig(
        arm.n_steps,
        lr=lr,
        optimizer="sgd",
        schedule="constant",
        weight_decay=0.0,
        clip_norm=arm.clip_norm,
        log_every=arm.n_steps,
        checkpoint_every=arm.n_steps,
        spike_factor=1e9,  # a bad rate is to be measured, not interrupted
        fused=True,
        seed=seed,
    )
    try:
        Trainer(model, batches, config).train()
    except TrainingDivergedError:
        return math.inf
    loss = evaluate(model.eval(), stories.valid, eos_id=stories.eos_id).nats_per_token
    return loss if math.isfinite(loss) else math.inf


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = Recording(command_line(__doc__, __file__, arms=ARMS), arguments)
    recording.begin(
        {"what": "nats per token on 300 validation stories"},
        same={"radius": RADIUS, "width": D_HIDDEN, "batch_size": BATCH_SIZE, "seeds": SEEDS},
    )
    stories = load()
    for name in recording.missing(ARMS):
        result = study(ARMS[name], partial(final_loss, stories, ARMS[name]))
        recording.keep(name, result, within="arms")


if __name__ == "__main__":
    main()
