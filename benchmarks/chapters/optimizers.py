"""Compare optimizers, schedules and clipping on one small transformer, each at its own best rate.

    python -m benchmarks.chapters.optimizers [--record FILE] [--only ARM]

The first study changes one thing at a time, from plain SGD to the usual recipe. The second asks
whether warm-up matters, with norms before and after each sublayer, in a deeper model with Xavier's
weights (Glorot & Bengio 2010), such as the first transformers began with. Rates are powers of two
times 0.001. Each arm's rate is the one with the lowest loss on validation stories, seed 0, and its
neighbours on both sides are tried too; then two more seeds. Seven minutes of one core.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import torch
from torch import nn

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training import optim
from course_pkg.training.trainer import Trainer, TrainerConfig, TrainingDivergedError

SEEDS = (0, 1, 2)
BATCH_SIZE, N_VALID = 8, 300
WIDTH, N_HEADS = 32, 2


@dataclass(frozen=True)
class Arm:
    """One way to train, and the model.

    Attributes:
        optimizer: "sgd", "momentum", "adam" or "adamw".
        first: exponent of the first rate that is tried, 0.001 times that power of two.
    """

    optimizer: str = "adamw"
    schedule: str = "cosine"
    n_warmup: int = 60
    clip_norm: float | None = None
    first: int = 4
    n_steps: int = 300
    n_layers: int = 2
    block: str = "pre_norm"
    is_xavier: bool = False


RECIPES = {
    "SGD": Arm("sgd", "constant", n_warmup=0, first=8),
    "with momentum": Arm("momentum", "constant", n_warmup=0, first=4),
    "Adam": Arm("adam", "constant", n_warmup=0, first=4),
    "AdamW": Arm("adamw", "constant", n_warmup=0, first=4),
    "and warm-up": Arm("adamw", "constant"),
    "and inverse root": Arm("adamw", "inverse_sqrt"),
    "and cosine instead": Arm("adamw", "cosine"),
    "and clipping": Arm("adamw", "cosine", clip_norm=1.0),
    "momentum, same recipe": Arm("momentum", "cosine", clip_norm=1.0, first=8),
}
"""Each differs from the one before in one thing; the last is the control of the whole: the schedule
and the clipping of the best with the optimizer of the second."""

WARMUPS = {
    f"{norm}, {warm}": Arm(
        n_warmup=n_warmup, n_steps=250, n_layers=6, block=norm.replace("-", "_"), is_xavier=True
    )
    for norm in ("pre-norm", "post-norm")
    for warm, n_warmup in (("no warm-up", 0), ("warm-up", 60))
}
WARMUP_RATES = range(5)
"""Exponents of the rates at which all arms of the second study are compared."""


@dataclass(frozen=True)
class Stories:
    """Training and validation stories in ids of words."""

    vocab_size: int
    eos_id: int
    train: list[list[int]]
    valid: list[list[int]]


@cache
def load() -> Stories:
    """Read the stories once."""
    corpus = load_corpus("stories")
    words = WordTokenizer.train(corpus.train, unk=None)
    train, valid = (
        [words.encode(text) for text in split] for split in (corpus.train, corpus.valid[:N_VALID])
    )
    return Stories(words.vocab_size, words.eos_id, train, valid)


def rate(exponent: int) -> float:
    """Return 0.001 times a power of two.

    Example:
        >>> rate(3)
        0.008
    """
    return 0.001 * 2.0**exponent


def new_model(stories: Stories, arm: Arm, seed: int) -> GPT:
    """Return an untrained model of the arm's structure."""
    config = TransformerConfig(
        vocab_size=stories.vocab_size,
        context_length=256,
        d_model=WIDTH,
        n_heads=N_HEADS,
        n_layers=arm.n_layers,
        d_ff=4 * WIDTH,
        positions="rotary",
        block=arm.block,
    )
    generator = torch.Generator().manual_seed(seed)
    model = GPT(config, generator=generator)
    if arm.is_xavier:
        nn.init.normal_(model.embedding.weight, std=WIDTH**-0.5, generator=generator)
        for matrix in (p for p in model.stack.parameters() if p.dim() > 1):
            nn.init.xavier_uniform_(matrix, generator=generator)
    return model


def final_loss(stories: Stories, arm: Arm, lr: float, seed: int) -> float:
    """Train, and return nats per token on validation stories; infinite if the run broke."""
    model = new_model(stories, arm, seed)
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
        optimizer="sgd" if arm.optimizer == "momentum" else arm.optimizer,
        schedule=arm.schedule,
        n_warmup=arm.n_warmup,
        clip_norm=arm.clip_norm,
        weight_decay=0.1 if arm.optimizer == "adamw" else 0.0,  # elsewhere it would be a penalty
        fused=True,
        log_every=arm.n_steps,
        checkpoint_every=arm.n_steps,
        spike_factor=1e9,  # a bad rate is to be measured, not interrupted
        seed=seed,
    )
    plain = optim.SGD(model.parameters(), lr) if arm.optimizer == "sgd" else None
    try:
        Trainer(model, batches, config, optimizer=plain).train()
    except TrainingDivergedError:
        return math.inf
    loss = evaluate(model.eval(), stories.valid, eos_id=stories.eos_id).nats_per_token
    return loss if math.isfinite(loss) else math.inf


def tune(loss_at: Callable[[int], float], first: int) -> dict[int, float]:
    """Go downhill over exponents until the best has a worse one on both sides; return all tried.

    Example:
        >>> tune(lambda exponent: abs(exponent - 5.0), first=3)
        {3: 2.0, 2: 3.0, 4: 1.0, 5: 0.0, 6: 1.0}
    """
    tried = {first: loss_at(first)}
    while True:
        best = min(tried, key=lambda exponent: tried[exponent])
        missing = [exponent for exponent in (best - 1, best + 1) if exponent not in tried]
        if not missing:
            return tried
        tried |= {exponent: loss_at(exponent) for exponent in missing}


def study(
    arm: Arm, loss_of: Callable[[float, int], float], exponents: Sequence[int] = ()
) -> dict[str, Any]:
    """Tune an arm's rate by its first seed, then train it with the others.

    Args:
        loss_of: the loss at a rate and a seed.
        exponents: rates that are tried at any event.
    """
    known = {exponent: loss_of(rate(exponent), SEEDS[0]) for exponent in exponents}

    def loss_at(exponent: int) -> float:
        return known[exponent] if exponent in known else loss_of(rate(exponent), SEEDS[0])

    first = min(known, key=lambda exponent: known[exponent]) if known else arm.first
    tried = known | tune(loss_at, first)
    best = min(tried, key=lambda exponent: tried[exponent])
    losses = [tried[best], *(loss_of(rate(best), seed) for seed in SEEDS[1:])]
    return {
        **asdict(arm),
        "lr": rate(best),
        "losses": losses,
        "mean": statistics.mean(losses),
        "sd": statistics.stdev(losses),
        # JSON has no infinity
        "tried": [[rate(e), None if math.isinf(y) else y] for e, y in sorted(tried.items())],
    }


STUDIES = {"recipes": (RECIPES, ()), "warmups": (WARMUPS, tuple(WARMUP_RATES))}
"""By their names in the record: their arms, and rates that all of them try."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    names = [name for arms, _ in STUDIES.values() for name in arms]
    recording = Recording(command_line(__doc__, __file__, arms=names), arguments)
    recording.begin(
        {"what": "nats per token on 300 validation stories"},
        same={"batch_size": BATCH_SIZE, "width": WIDTH, "seeds": SEEDS},
    )
    for title, (arms, exponents) in STUDIES.items():
        for name in recording.missing(arms, within=title):
            arm = arms[name]

            def loss_of(lr: float, seed: int, arm: Arm = arm) -> float:
                return final_loss(load(), arm, lr, seed)

            recording.keep(name, study(arm, loss_of, exponents), within=title)


if __name__ == "__main__":
    main()
