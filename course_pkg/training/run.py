"""Where a training run stands: all that must be saved for it to go on as if never interrupted.

Chapter: training transformers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from course_pkg.common.devices import rng_state, set_rng_state
from course_pkg.training import checkpoint, distributed, sharding
from course_pkg.training.health import Health
from course_pkg.training.log import Update
from course_pkg.training.schedules import Schedule
from course_pkg.training.settings import TrainerConfig
from course_pkg.training.spikes import SpikeDetector, TrainingDivergedError

Batch = Mapping[str, Tensor]
"""Keyword arguments of the model; "targets" among them."""

N_RATES = 16
"""At how many of the updates done the learning rate is compared when a run goes on."""

N_NAMED = 4
"""How many differences a message lists."""


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
        """Return where the stream stands: tensors and JSON.

        What stands under "settings", if anything, tells one stream from another (numbers and text
        by name, such as the seed): a run goes on only with the same ones.
        """
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` stood."""
        ...


def check_batches(batches: Any) -> None:
    """Refuse what is no stream of batches.

    Raises:
        ValueError: naming its type.
    """
    if not isinstance(batches, BatchSource):
        raise ValueError(
            f"batches is {type(batches).__name__}; it must go on for ever, as what "
            "window_batches and example_batches make of data does"
        )


def checked_batch(batch: Any, predicts_next: bool) -> Batch:
    """Refuse what is no batch, or has nothing to predict.

    Args:
        predicts_next: whether the model is one that predicts each next token.

    Raises:
        ValueError: saying what it is.
    """
    if not isinstance(batch, Mapping):
        raise ValueError(
            f"a batch is {type(batch).__name__}; it must be the model's keyword arguments, such as "
            '{"ids": ids, "targets": targets}'
        )
    if "targets" not in batch:
        raise ValueError(
            f"a batch has {', '.join(map(repr, batch)) or 'nothing'}; it must have 'targets' as "
            "well, the loss's own"
        )
    for name, tensor in batch.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name} of a batch is {type(tensor).__name__}; it must be a tensor")
    if predicts_next and _predicts_itself(batch):
        raise ValueError(
            "targets of a batch are its ids: each token is to predict itself, which it sees; "
            "targets are one place on, ids[:, 1:] after ids[:, :-1]"
        )
    return batch


def _predicts_itself(batch: Batch) -> bool:
    """Say whether targets were not shifted. A GPU would have to be waited for, and is not asked."""
    ids, targets = batch.get("ids"), batch["targets"]
    if ids is None or ids.device.type != "cpu" or ids.dtype != targets.dtype:
        return False
    # Where one token is repeated, its follower is itself.
    return torch.equal(ids, targets) and bool((ids[..., 1:] != ids[..., :-1]).any())


@dataclass
class Run:
    """A model in training, with everything that changes while it trains.

    Attributes:
        folder: where checkpoints go; None keeps nothing (and cannot roll back).
        step: updates done so far.
        pending: what the updates were like of which the log does not tell yet.
        seconds: that those took.
        n_rollbacks: how often the run has gone back.
        n_done_here: updates done in this session.
    """

    model: nn.Module
    batches: BatchSource
    config: TrainerConfig
    optimizer: torch.optim.Optimizer
    learning_rate: Schedule
    scaler: torch.amp.GradScaler
    device: torch.device
    folder: Path | None
    structure: dict[str, Any]
    step: int = 0
    pending: list[Update] = field(default_factory=list)
    seconds: float = 0.0
    n_rollbacks: int = 0
    n_done_here: int = 0
    spikes: SpikeDetector = field(init=False)
    health: Health = field(init=False)
    went_back_to: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.spikes = SpikeDetector(self.config.spike_factor, self.config.spike_margin)
        self.health = Health(self.model)

    def start(self, resume: bool) -> str | None:
        """Seed dropout, then begin, or go on from the newest healthy checkpoint and say so.

        Raises:
            FileExistsError: if the folder has checkpoints and resume is False.
            CheckpointError: as `load`, or if none is healthy.
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
        return f"resumed from {self._load_healthy(existing).name}"

    def roll_back(self, event: str) -> str:
        """Return to the newest healthy checkpoint with the data in another order; say so.

        One that the run went back to before, in vain, is not gone back to again if there is an
        older one: what is wrong with it need not show before the next update.

        Args:
            event: what went wrong.

        Raises:
            TrainingDivergedError: after too many spikes, or at once without a folder.
        """
        config = self.config
        if self.folder is None:
            raise TrainingDivergedError(
                f"{event}; give the trainer a folder for checkpoints so that it can roll back, "
                f"or lower lr ({config.lr})"
            )
        if self.n_rollbacks >= config.n_rollbacks:
            raise TrainingDivergedError(
                f"{event}, after {self.n_rollbacks} roll backs; lower lr ({config.lr}), "
                f"warm up longer (n_warmup {config.n_warmup}) or clip harder "
                f"(clip_norm {config.clip_norm})"
            )
        n_rollbacks = self.n_rollbacks + 1
        paths = checkpoint.list_checkpoints(self.folder)
        in_vain = len(paths) > 1 and self.went_back_to == int(paths[-1].name.split("-")[1])
        newest = self._load_healthy(paths[:-1] if in_vain else paths)
        self.n_rollbacks, self.went_back_to = n_rollbacks, self.step
        for _ in range(n_rollbacks):  # another order at each attempt from the same checkpoint
            self.batches.reshuffle()
        return f"{event}: rolled back to {newest.name}"

    def _load_healthy(self, paths: list[Path]) -> Path:
        """Become the newest of some checkpoints whose weights are finite; set newer ones aside."""
        assert self.folder is not None  # there are checkpoints
        ailments = []
        for path in reversed(paths):
            try:
                loaded = checkpoint.load_checkpoint(path)
            except checkpoint.CheckpointError as error:
                older = [other.name for other in paths if other.name < path.name]
                if not older:
                    raise
                raise checkpoint.CheckpointError(
                    f"{error}; if that cannot be, rename the folder: the run then goes on from "
                    f"{older[-1]}"
                ) from error
            ailment = self.health.of_weights(loaded.weights)
            if ailment is None:
                break
            ailments.append(f"{path.name} has a number in {ailment} that is not finite")
        else:
            raise checkpoint.CheckpointError(
                f"{self.folder} has no healthy checkpoint: {'; '.join(ailments)}; begin anew in "
                "another folder, with a lower lr"
            )
        self._become(loaded, path)
        distributed.wait_for_all()  # until every process has read what it needs
        if distributed.is_main():
            for newer in checkpoint.list_checkpoints(self.folder):
                if newer.name > path.name:
                    checkpoint.set_aside(newer)
        distributed.wait_for_all()
        return path

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
                "optimizer_class": type(self.optimizer).__name__,
                "rates": [[step, self.learning_rate(step)] for step in _spread(self.step)],
                "scaler": self.scaler.state_dict(),
                "recent_losses": list(self.spikes.recent),
                "pending": [[float(number) for number in update] for update in self.pending],
                "seconds": self.seconds,
                "n_rollbacks": self.n_rollbacks,
                "processes": processes,
                "config": self.config.resolved(),
                "structure": self.structure,
            }
            checkpoint.save_checkpoint(
                self.folder, self.step, weights, state, keep=self.config.n_checkpoints
            )
        distributed.wait_for_all()

    def load(self, path: Path) -> None:
        """Become the run that wrote this checkpoint.

        Raises:
            CheckpointError: if it is damaged, or of another model, optimizer, stream of batches or
                number of processes, or was trained with other settings; the message names them.
        """
        self._become(checkpoint.load_checkpoint(path), path)

    def _become(self, loaded: checkpoint.Checkpoint, path: Path) -> None:
        state = loaded.state
        try:
            processes = state["processes"]
            if len(processes) != distributed.n_processes():
                raise checkpoint.CheckpointError(
                    f"{path} was written by {len(processes)} processes, "
                    f"not {distributed.n_processes()}"
                )
            own = processes[distributed.process_number()]
            self._refuse_another_run(loaded, own, path)
        except KeyError as error:
            raise checkpoint.CheckpointError(
                f"{path} was written by another version of this package: it has no {error}; begin "
                "anew in another folder"
            ) from error
        weights = sharding.parts_of_weights(loaded.weights, self.model)
        checkpoint.load_weights(self.model, weights, path)
        self.optimizer.load_state_dict(
            sharding.parts_of_optimizer_state(state["optimizer"], self.optimizer)
        )
        self.scaler.load_state_dict(state["scaler"])
        self.batches.load_state_dict(own["batches"])
        torch.set_rng_state(own["rng"])
        # A run that goes on upon another device draws its dropout anew from there.
        set_rng_state(self.device, own.get(f"{self.device.type}_rng"))
        self.step, self.n_rollbacks = loaded.step, state["n_rollbacks"]
        self.pending = [
            Update(
                torch.tensor(loss, device=self.device),
                torch.tensor(norm, device=self.device),
                n_read,
            )
            for loss, norm, n_read in state["pending"]
        ]
        self.seconds = state["seconds"]
        self.spikes.recent.clear()
        self.spikes.recent.extend(state["recent_losses"])

    def _refuse_another_run(
        self, loaded: checkpoint.Checkpoint, own: Mapping[str, Any], path: Path
    ) -> None:
        state = loaded.state
        of_config = self.config.differences(state["config"], loaded.step)
        differing = [
            *of_config,
            *_differences(state["structure"], self.structure),
            *_differences(
                {"optimizer": state["optimizer_class"]},
                {"optimizer": type(self.optimizer).__name__},
            ),
            *_of_groups(state["optimizer"], self.optimizer.state_dict()),
            *(
                f"learning_rate at update {step + 1} was {rate!r}, not {self.learning_rate(step)!r}"
                for step, rate in state["rates"]
                if not of_config  # of which other rates follow
                if rate != self.learning_rate(step)
            ),
            *_differences(
                own["batches"].get("settings", {}), self.batches.state_dict().get("settings", {})
            ),
        ]
        if differing:
            n_more = len(differing) - N_NAMED
            more = f"; and {n_more} more" if n_more > 0 else ""
            raise checkpoint.CheckpointError(
                f"{path} was trained with other settings: {'; '.join(differing[:N_NAMED])}{more}"
            )


def structure_of(model: nn.Module) -> dict[str, Any]:
    """Return the numbers, names and switches that a model was made with, by module.

    Weights of one shape may belong to models that compute otherwise: with other heads, or dropout.
    """
    found: dict[str, Any] = {"model": type(model).__name__}
    for name, module in model.named_modules():
        for setting, value in vars(module).items():
            is_plain = isinstance(value, bool | int | float | str)
            if is_plain and setting != "training" and not setting.startswith("_"):
                found[f"{name}.{setting}".lstrip(".")] = value
    return found


def _differences(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Say which settings, of those in both, were others."""
    for name, value in now.items():
        if name in earlier and earlier[name] != value:
            yield f"{name} was {earlier[name]!r}, not {value!r}"


def _of_groups(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The same of an optimizer's groups of parameters; their rates follow the schedule."""
    n_earlier, n_now = (sum(len(g["params"]) for g in s["param_groups"]) for s in (earlier, now))
    if n_earlier != n_now:
        yield f"{n_earlier} parameters were trained, not {n_now}"
    for old, new in zip(earlier["param_groups"], now["param_groups"], strict=False):
        yield from _differences(
            {n: list(v) if isinstance(v, tuple) else v for n, v in old.items()},
            {
                n: list(v) if isinstance(v, tuple) else v
                for n, v in new.items()
                if n not in ("params", "lr", "initial_lr")
            },
        )


def _spread(n_steps: int) -> list[int]:
    """Return some of the updates done, from the first to the last."""
    n = min(n_steps, N_RATES)
    return [i * (n_steps - 1) // max(n - 1, 1) for i in range(n)]
