"""How a model is trained, as one record that is saved with every checkpoint.

Chapter: training transformers.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from course_pkg.common.checks import real_number, whole_numbers
from course_pkg.common.files import NOT_FINITE
from course_pkg.training import optim
from course_pkg.training.precision import PRECISIONS
from course_pkg.training.schedules import (
    Schedule,
    constant_schedule,
    cosine_schedule,
    inverse_sqrt_schedule,
    warmup_stable_decay_schedule,
)

_WHOLE = {"n_steps": 1, "n_accumulate": 1, "log_every": 1, "n_checkpoints": 1}
_WHOLE |= {"checkpoint_every": 1, "evaluate_every": 1}
_WHOLE |= {"n_warmup": 0, "n_decay": 0, "n_rollbacks": 0, "seed": 0}
"""Settings that are whole numbers, and how small each may be."""

_REAL = ("lr", "weight_decay", "beta2", "clip_norm", "spike_factor", "spike_margin")
_MAY_BE_NONE = {"checkpoint_every", "evaluate_every", "weight_decay", "clip_norm"}


@dataclass(frozen=True)
class TrainerConfig:
    """How to train; what is trained stands in the model's own config.

    Attributes:
        n_steps: updates in all.
        n_accumulate: batches per update and process (gradient accumulation).
        optimizer: a key of `optim.OPTIMIZERS`.
        schedule: a key of `SCHEDULES`; `lr` is its peak.
        n_decay: with "warmup_stable_decay", the updates at the end in which the rate falls. Before
            them a run may be resumed with another end: another `n_steps` and `n_decay`.
        clip_norm: longest joint gradient, see `optim.clip_global_norm`, or None.
        precision: of the forward pass, "float32", "bfloat16" or "float16"; weights stay float32.
        weight_decay: see `optim.make_optimizer`; None for 0.1 where it is decoupled, else 0.
        beta2: how long Adam remembers squared gradients; small batches want it nearer to 1.
        fused: use torch's fused optimizer instead of the written-out one; same steps; not
            for Muon.
        compile: `torch.compile` the model; pays back after thousands of small updates.
        evaluate_every: updates between evaluations, a multiple of `log_every`; None for one at the
            end. There is no early stopping: choose the end, or a checkpoint, by what these say.
        checkpoint_every: updates between checkpoints; a roll back loses at most these. None for
            about 200, a multiple of `log_every`: see `checkpoint_interval`.
        spike_factor: how many times its recent median a loss must reach to count as a spike,
        spike_margin: and how many nats above it: three times almost nothing is no spike.
        n_rollbacks: spikes survived before the run stops.
        seed: of dropout. The data's seed is the batch source's own.
    """

    n_steps: int
    lr: float = 1e-3
    n_accumulate: int = 1
    optimizer: str = "adamw"
    schedule: str = "cosine"
    n_warmup: int = 0
    n_decay: int = 0
    weight_decay: float | None = None
    beta2: float = 0.95
    clip_norm: float | None = 1.0
    precision: str = "float32"
    fused: bool = False
    compile: bool = False
    log_every: int = 10
    evaluate_every: int | None = None
    checkpoint_every: int | None = None
    n_checkpoints: int = 2
    spike_factor: float = 3.0
    spike_margin: float = 0.5
    n_rollbacks: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        self._take_plain_numbers()
        for name, table in (("optimizer", optim.OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in table:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(table)}"
                )
        if not 0 < self.lr < math.inf:
            raise ValueError(f"lr is {self.lr}; it must be positive and finite")
        if self.weight_decay is not None and not self.weight_decay >= 0:
            raise ValueError(f"weight_decay is {self.weight_decay}; it must not be negative")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm is {self.clip_norm}; it must be positive, or None")
        if not 0 <= self.beta2 < 1:
            raise ValueError(f"beta2 is {self.beta2}; it must be at least 0 and below 1")
        if not self.spike_factor > 1:
            raise ValueError(f"spike_factor is {self.spike_factor}; it must be above 1")
        if not self.spike_margin >= 0:
            raise ValueError(f"spike_margin is {self.spike_margin}; it must not be negative")
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"precision is {self.precision!r}; it must be one of {', '.join(PRECISIONS)}"
            )
        for name in ("checkpoint_every", "evaluate_every"):
            every = getattr(self, name)
            if every is not None and every % self.log_every:
                raise ValueError(
                    f"{name} is {every}; it must be a multiple of log_every, {self.log_every} (set "
                    "that too): only then are the losses known to be good"
                )
        self.learning_rates()

    def _take_plain_numbers(self) -> None:
        """Turn numbers of NumPy and torch into Python's, which can be saved; refuse what is none.

        Raises:
            ValueError: naming the setting.
        """
        settings: dict[str, Any] = {}
        for name, at_least in _WHOLE.items():
            if getattr(self, name) is not None or name not in _MAY_BE_NONE:
                whole_numbers(at_least=at_least, **{name: getattr(self, name)})
                settings[name] = operator.index(getattr(self, name))
        if settings["seed"] >= 2**63:
            raise ValueError(f"seed is {self.seed}; it must be below 2**63")
        for name in _REAL:
            value = getattr(self, name)
            if isinstance(value, str):  # as JSON has it
                value = NOT_FINITE.get(value, value)
            if value is not None or name not in _MAY_BE_NONE:
                settings[name] = real_number(name, value)
        for name in ("fused", "compile"):
            if getattr(self, name) not in (True, False):
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be True or False")
            settings[name] = bool(getattr(self, name))
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    @property
    def checkpoint_interval(self) -> int:
        """Updates between checkpoints: `checkpoint_every`, or what is chosen where it is None."""
        if self.checkpoint_every is not None:
            return self.checkpoint_every
        return max(1, 200 // self.log_every) * self.log_every

    @property
    def decay(self) -> float:
        """Weight decay of matrices: `weight_decay`, or what suits the optimizer if it is None."""
        if self.weight_decay is not None:
            return self.weight_decay
        return optim.OPTIMIZERS[self.optimizer].decay

    def resolved(self) -> dict[str, Any]:
        """Return all settings as a run uses them, what was left to us filled in."""
        chosen = {"weight_decay": self.decay, "checkpoint_every": self.checkpoint_interval}
        return asdict(self) | chosen

    def make_optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Build the optimizer over a model's trainable parameters."""
        return optim.make_optimizer(
            model,
            self.optimizer,
            lr=self.lr,
            betas=(0.9, self.beta2),
            weight_decay=self.decay,
            fused=self.fused,
        )

    def learning_rates(self) -> Schedule:
        """Return the schedule, as a function of the updates done so far."""
        return SCHEDULES[self.schedule](self)

    def differences(self, earlier: Mapping[str, Any], step: int) -> list[str]:
        """Say which of some earlier settings make the first `step` updates other ones than ours."""
        ours = self.resolved()
        differing = [name for name in ours if earlier.get(name) != ours[name]]
        if self.schedule == earlier.get("schedule") == "warmup_stable_decay":
            stable = min(c["n_steps"] - c.get("n_decay", 0) for c in (ours, earlier))
            if step <= stable:  # the rate has not begun to fall in either
                differing = [name for name in differing if name not in ("n_steps", "n_decay")]
        return [f"{name} was {earlier.get(name)!r}, not {ours[name]!r}" for name in differing]


def _inverse_sqrt(config: TrainerConfig) -> Schedule:
    if config.n_warmup < 1:
        raise ValueError(
            f"n_warmup is {config.n_warmup}; the schedule 'inverse_sqrt' needs 1 or more"
        )
    # d_model 1 and this factor put the peak at lr
    factor = config.lr * config.n_warmup**0.5
    return inverse_sqrt_schedule(1, n_warmup=config.n_warmup, factor=factor)


SCHEDULES: dict[str, Callable[[TrainerConfig], Schedule]] = {
    "cosine": lambda c: cosine_schedule(c.lr, n_warmup=c.n_warmup, n_steps=c.n_steps),
    "constant": lambda c: constant_schedule(c.lr, n_warmup=c.n_warmup),
    "inverse_sqrt": _inverse_sqrt,
    "warmup_stable_decay": lambda c: warmup_stable_decay_schedule(
        c.lr, n_warmup=c.n_warmup, n_steps=c.n_steps, n_decay=c.n_decay
    ),
}
"""How a config's schedule is made, by name."""
