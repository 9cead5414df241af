"""Where a training run stands: all that must be saved for it to go on as if never interrupted.

Chapter: training transformers.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from course_pkg.devices import rng_state, set_rng_state
from course_pkg.training import checkpoint, distributed, sharding
from course_pkg.training.settings import TrainerConfig
from course_pkg.training.spikes import SpikeDetector, TrainingDivergedError

Batch = Mapping[str, Tensor]
"""Keyword arguments of the model; "targets" among them."""


@runtime_checkable
class BatchSource(Protocol):
    """An endless, restartable stream of batches."""

    def next_batch(self) -> Batch:
        """Return the next batch, on the CPU."""
        ...

    def reshuffle(self) -> None:
        """Change the order of everything still to come."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return where the stream stands: tensors and JSON."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` stood."""
        ...


@dataclass
class Run:
    """A model in training, with everything that changes while it trains.

    Attributes:
        folder: where checkpoints go; None keeps nothing (and cannot roll back).
        step: updates done so far.
        n_rollbacks: how often the run has gone back.
    """

    model: nn.Module
    batches: BatchSource
    config: TrainerConfig
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    device: torch.device
    folder: Path | None
    step: int = 0
    n_rollbacks: int = 0
    spikes: SpikeDetector = field(init=False)

    def __post_init__(self) -> None:
        self.spikes = SpikeDetector(self.config.spike_factor, self.config.spike_margin)

    def start(self, resume: bool) -> str | None:
        """Seed dropout, then begin, or go on from the newest checkpoint and say so.

        Raises:
            FileExistsError: if the folder has checkpoints and resume is False.
        """
        torch.manual_seed(self.config.seed + distributed.process_number())
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        existing = checkpoint.list_checkpoints(self.folder)
        if existing and not resume:
            raise FileExistsError(
                f"{self.folder} has checkpoints; resume from them or use another folder"
            )
        if not existing:
            self.save()  # so that a spike before the first checkpoint has somewhere to go back to
            return None
        self.load(existing[-1])
        return f"resumed from {existing[-1].name}"

    def roll_back(self, loss: float) -> str:
        """Return to the newest checkpoint with the data in another order; say so.

        Raises:
            TrainingDivergedError: after too many spikes, or at once without a folder.
        """
        event, config = f"loss {loss:.3f} after update {self.step} is a spike", self.config
        if self.folder is None:
            raise TrainingDivergedError(
                f"{event}; give the trainer a folder for checkpoints so that it can roll back, "
                f"or lower lr ({config.lr})"
            )
        if self.n_rollbacks == config.n_rollbacks:
            raise TrainingDivergedError(
                f"{event}, after {self.n_rollbacks} roll backs; lower lr ({config.lr}), "
                f"warm up longer (n_warmup {config.n_warmup}) or clip harder "
                f"(clip_norm {config.clip_norm})"
            )
        n_rollbacks = self.n_rollbacks + 1
        newest = checkpoint.list_checkpoints(self.folder)[-1]
        self.load(newest)
        self.n_rollbacks = n_rollbacks
        for _ in range(n_rollbacks):  # another order at each attempt from the same checkpoint
            self.batches.reshuffle()
        return f"{event}: rolled back to {newest.name}"

    def save(self) -> None:
        """Write a checkpoint; every process adds where its data and its dropout stand."""
        if self.folder is None:
            return
        own = {"batches": self.batches.state_dict(), "rng": torch.get_rng_state()}
        if (state_there := rng_state(self.device)) is not None:
            own[f"{self.device.type}_rng"] = state_there
        processes = distributed.gather(own)
        weights = sharding.whole_weights(self.model)
        optimizer = sharding.whole_optimizer_state(self.optimizer)
        if distributed.is_main():
            state = {
                "optimizer": optimizer,
                "scaler": self.scaler.state_dict(),
                "recent_losses": list(self.spikes.recent),
                "n_rollbacks": self.n_rollbacks,
                "processes": processes,
                "config": asdict(self.config),
            }
            checkpoint.save_checkpoint(
                self.folder, self.step, weights, state, keep=self.config.n_checkpoints
            )
        distributed.wait_for_all()

    def load(self, path: Path) -> None:
        """Become the run that wrote this checkpoint.

        Raises:
            CheckpointError: if it is damaged, or of another model, config or number of processes.
        """
        loaded = checkpoint.load_checkpoint(path)
        state = loaded.state
        differing = self.config.differences(state["config"], loaded.step)
        if differing:
            raise checkpoint.CheckpointError(
                f"{path} was trained with other settings: {', '.join(differing)}"
            )
        if len(state["processes"]) != distributed.n_processes():
            raise checkpoint.CheckpointError(
                f"{path} was written by {len(state['processes'])} processes, "
                f"not {distributed.n_processes()}"
            )
        weights = sharding.parts_of_weights(loaded.weights, self.model)
        checkpoint.load_weights(self.model, weights, path)
        self.optimizer.load_state_dict(
            sharding.parts_of_optimizer_state(state["optimizer"], self.optimizer)
        )
        self.scaler.load_state_dict(state["scaler"])
        own = state["processes"][distributed.process_number()]
        self.batches.load_state_dict(own["batches"])
        torch.set_rng_state(own["rng"])
        # A run that goes on upon another device draws its dropout anew from there.
        set_rng_state(self.device, own.get(f"{self.device.type}_rng"))
        self.step, self.n_rollbacks = loaded.step, state["n_rollbacks"]
        self.spikes.recent.clear()
        self.spikes.recent.extend(state["recent_losses"])
