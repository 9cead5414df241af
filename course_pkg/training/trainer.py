"""The one training loop of the course: any model, one process or many, killed and resumed.

An update takes `n_accumulate` batches, weighs each one's loss by its number of targets (so that the
result equals one large batch, however unevenly padding falls), clips the gradient, and steps.
Every `log_every` updates the losses are read from the device, logged and watched: one that is far
above its recent median, or not a number, sends the run back to the last good checkpoint, with the
data reshuffled so that it does not meet the same batch in the same state (Chowdhery et al. 2022,
section 5.1). A resumed run continues exactly where the saved one stood.
Chapter: training transformers.
"""

import json
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_pkg.models import IGNORE
from course_pkg.training import checkpoint, distributed, optim, sharding

Batch = Mapping[str, Tensor]
"""Keyword arguments of the model; "targets" among them."""

Evaluate = Callable[[nn.Module], Mapping[str, float | str]]
"""Reports figures, or sample text, on a model in evaluation mode."""


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


class TrainingDivergedError(Exception):
    """The loss kept exploding although the run went back and tried other data."""


@dataclass(frozen=True)
class TrainerConfig:
    """How to train; what is trained stands in the model's own config.

    Attributes:
        n_steps: updates in all.
        n_accumulate: batches per update and process.
        schedule: "cosine", "constant" or "inverse_sqrt"; `lr` is its peak.
        clip_norm: longest joint gradient, or None.
        precision: of the forward pass, "float32", "bfloat16" or "float16"; weights stay float32.
        beta2: how long Adam remembers squared gradients; small batches want it nearer to 1.
        fused: use torch's fused optimizer instead of the written-out one; same steps.
        compile: `torch.compile` the model; pays back after thousands of small updates.
        checkpoint_every: updates between checkpoints; a roll back loses at most these.
        spike_factor: how many times its recent median a loss must reach to count as a spike.
        n_rollbacks: spikes survived before the run stops.
        seed: of dropout. The data's seed is the batch source's own.
    """

    n_steps: int
    lr: float = 1e-3
    n_accumulate: int = 1
    optimizer: str = "adamw"
    schedule: str = "cosine"
    n_warmup: int = 0
    weight_decay: float = 0.1
    beta2: float = 0.95
    clip_norm: float | None = 1.0
    precision: str = "float32"
    fused: bool = False
    compile: bool = False
    log_every: int = 10
    evaluate_every: int | None = None
    checkpoint_every: int = 200
    n_checkpoints: int = 2
    spike_factor: float = 3.0
    n_rollbacks: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_steps", "n_accumulate", "log_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not self.lr > 0:
            raise ValueError(f"lr is {self.lr}; it must be positive")
        if not 0 <= self.beta2 < 1:
            raise ValueError(f"beta2 is {self.beta2}; it must be at least 0 and below 1")
        if not self.spike_factor > 1:
            raise ValueError(f"spike_factor is {self.spike_factor}; it must be above 1")
        if self.precision not in ("float32", "bfloat16", "float16"):
            raise ValueError(
                f"precision is {self.precision!r}; it must be float32, bfloat16 or float16"
            )
        for name in ("checkpoint_every", "evaluate_every"):
            every = getattr(self, name)
            if every is not None and (every < 1 or every % self.log_every):
                raise ValueError(
                    f"{name} is {every}; it must be a multiple of log_every, {self.log_every}: "
                    "only then are the losses known to be good"
                )
        self.learning_rates()

    def learning_rates(self) -> optim.Schedule:
        """Return the schedule, as a function of the updates done so far."""
        match self.schedule:
            case "cosine":
                return optim.cosine_schedule(self.lr, n_warmup=self.n_warmup, n_steps=self.n_steps)
            case "constant":
                return optim.constant_schedule(self.lr, n_warmup=self.n_warmup)
            case "inverse_sqrt":  # d_model 1 and this factor put the peak at lr
                factor = self.lr * self.n_warmup**0.5
                return optim.inverse_sqrt_schedule(1, n_warmup=self.n_warmup, factor=factor)
        raise ValueError(
            f"schedule is {self.schedule!r}; it must be cosine, constant or inverse_sqrt"
        )


class Trainer:
    """Train a model on a stream of batches.

    Args:
        model: returns `(logits, loss)`, the loss a mean over targets that are not IGNORE.
        folder: where checkpoints and `log.jsonl` go; None keeps nothing (and cannot roll back).
        evaluate: called every `evaluate_every` updates and at the end; its figures are logged.
        device: where to train; the model is moved there.
        shard: divide the model among the processes, see `training.sharding`. The updates are the
            same, and so are the checkpoints: a run may go on without it.
        full_speed: tokens a second at which the device would be fully used; logs show the share of
            it that is reached, the model-FLOPs utilisation "mfu" of `training.compute`.
        optimizer: your own over the model's parameters, in place of the config's.
        learning_rate: your own schedule, in place of the config's.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: BatchSource,
        config: TrainerConfig,
        *,
        folder: Path | None = None,
        evaluate: Evaluate | None = None,
        device: torch.device | str = "cpu",
        full_speed: float | None = None,
        show_progress: bool = False,
        shard: bool = False,
        optimizer: torch.optim.Optimizer | None = None,
        learning_rate: optim.Schedule | None = None,
    ):
        self.full_speed = full_speed
        self.config, self.batches, self.evaluate = config, batches, evaluate
        self.device, self.folder, self.show_progress = torch.device(device), folder, show_progress
        if shard and optimizer is not None:
            raise ValueError(
                "optimizer is given; its parameters are not the parts that shard makes"
            )
        self.model = model
        self.forward = self._forward(shard)
        self.optimizer = optimizer or optim.make_optimizer(
            model,
            config.optimizer,
            lr=config.lr,
            betas=(0.9, config.beta2),
            weight_decay=config.weight_decay,
            fused=config.fused,
        )
        self.learning_rate = learning_rate or config.learning_rates()
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=config.precision == "float16")
        self.step = 0
        self.n_rollbacks = 0
        self.history: list[dict[str, Any]] = []
        self._recent_losses: deque[float] = deque(maxlen=50)

    def _forward(self, shard: bool) -> nn.Module:
        """Put the model onto the device, whole or in parts; return what computes its loss."""
        if shard:
            sharding.shard(
                self.model,
                self.device,
                precision=self.config.precision,
                compile=self.config.compile,
            )
            return self.model
        forward: nn.Module = self.model.to(self.device)
        if self.config.compile:
            forward = torch.compile(forward)  # type: ignore[assignment]
        return distributed.data_parallel(forward)

    def train(self, *, resume: bool = False) -> list[dict[str, Any]]:
        """Train until `n_steps` updates are done; return the log, one dict per entry.

        Args:
            resume: go on from the newest checkpoint in the folder; without one, start anew.

        Raises:
            FileExistsError: if the folder has checkpoints and resume is False.
            TrainingDivergedError: after too many spikes, or at once without a folder.
        """
        self._start(resume)
        progress = tqdm(
            total=self.config.n_steps,
            initial=self.step,
            disable=not (self.show_progress and distributed.is_main()),
            unit="update",
        )
        pending: list[tuple[Tensor, Tensor]] = []
        n_tokens: int | Tensor = 0
        since = time.perf_counter()
        while self.step < self.config.n_steps:
            loss, norm, n_targets = self._update()
            pending.append((loss, norm))
            n_tokens += n_targets
            self.step += 1
            if not self._is_due(self.config.log_every):
                continue
            spike = self._read(pending)
            if spike is not None:
                self._roll_back(spike)
            else:
                seconds = time.perf_counter() - since
                entry = self._log_updates(pending, float(n_tokens) / seconds)
                progress.set_postfix(_shown(entry), refresh=False)
                self._evaluate_and_save()
            progress.update(self.step - progress.n)
            pending, n_tokens, since = [], 0, time.perf_counter()
        progress.close()
        return self.history

    def _is_due(self, every: int) -> bool:
        return self.step % every == 0 or self.step == self.config.n_steps

    def _update(self) -> tuple[Tensor, Tensor, int | Tensor]:
        """Do one update; return its loss and gradient norm, still on the device, and its size."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(self.step)
        batches = [self.batches.next_batch() for _ in range(self.config.n_accumulate)]
        try:
            return self._update_by(batches)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            shape = tuple(batches[0]["targets"].shape)
            raise MemoryError(
                f"a batch of shape {shape} does not fit on {self.device}: make batches smaller and "
                "raise n_accumulate by the same factor"
            ) from error

    def _update_by(self, batches: list[Batch]) -> tuple[Tensor, Tensor, int | Tensor]:
        sizes = [int((batch["targets"] != IGNORE).sum()) for batch in batches]
        total = distributed.sum_over_processes(sum(sizes), self.device)
        divisor = total.clamp(min=1) if isinstance(total, Tensor) else max(total, 1)
        self.forward.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros((), device=self.device)
        for i, (batch, size) in enumerate(zip(batches, sizes, strict=True)):
            # Gradients are exchanged once, with the last batch of the update.
            is_last = i == len(batches) - 1
            with nullcontext() if is_last else distributed.no_exchange(self.forward):
                share = self._loss(batch) * (size / divisor)
                # Gradients are averaged over processes; the shares are to be summed.
                self.scaler.scale(share * distributed.n_processes()).backward()
            loss += share.detach()
        self.scaler.unscale_(self.optimizer)
        limit = self.config.clip_norm if self.config.clip_norm is not None else math.inf
        norm = optim.clip_global_norm(self.model.parameters(), limit)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return distributed.sum_tensor_over_processes(loss), norm, total

    def _loss(self, batch: Batch) -> Tensor:
        on_device = {
            name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()
        }
        dtype = getattr(torch, self.config.precision)
        with torch.autocast(self.device.type, dtype=dtype, enabled=dtype != torch.float32):
            loss: Tensor = self.forward(**on_device)[1]
        return loss

    def _read(self, pending: list[tuple[Tensor, Tensor]]) -> float | None:
        """Read the losses since the last entry; return the first that is a spike, if any."""
        losses = torch.stack([loss for loss, _ in pending]).tolist()
        for loss in losses:
            # With fewer than five losses there is no telling what is usual.
            usual = (
                statistics.median(self._recent_losses) if len(self._recent_losses) >= 5 else None
            )
            if not math.isfinite(loss) or (
                usual is not None and loss > self.config.spike_factor * usual
            ):
                return float(loss)
            self._recent_losses.append(loss)
        return None

    def _log_updates(
        self, pending: list[tuple[Tensor, Tensor]], tokens_per_second: float
    ) -> dict[str, Any]:
        share = {"mfu": tokens_per_second / self.full_speed} if self.full_speed else {}
        return self._log(
            {
                "step": self.step,
                "loss": torch.stack([loss for loss, _ in pending]).mean().item(),
                "gradient_norm": torch.stack([norm for _, norm in pending]).mean().item(),
                "lr": self.learning_rate(self.step - 1),
                "tokens_per_second": round(tokens_per_second, 1),
                **share,
            }
        )

    def _evaluate_and_save(self) -> None:
        every = self.config.evaluate_every or self.config.n_steps
        if self.evaluate is not None and self._is_due(every):
            self.model.eval()
            with torch.no_grad(), sharding.outside_of_forward(self.model):
                self._log({"step": self.step, **self.evaluate(self.model)})
        if self._is_due(self.config.checkpoint_every):
            self._save()

    def _log(self, entry: dict[str, Any]) -> dict[str, Any]:
        self.history.append(entry)
        if self.folder is not None and distributed.is_main():
            with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        return entry

    def _start(self, resume: bool) -> None:
        torch.manual_seed(self.config.seed + distributed.process_number())
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        existing = checkpoint.list_checkpoints(self.folder)
        if existing and not resume:
            raise FileExistsError(
                f"{self.folder} has checkpoints; resume from them or use another folder"
            )
        if existing:
            self._load(existing[-1])
            self._log({"step": self.step, "event": f"resumed from {existing[-1].name}"})
        else:
            self._save()  # so that a spike before the first checkpoint has somewhere to go back to

    def _roll_back(self, loss: float) -> None:
        """Return to the newest checkpoint with the data in another order."""
        event = f"loss {loss:.3f} after update {self.step} is a spike"
        if self.folder is None:
            raise TrainingDivergedError(
                f"{event}; give the trainer a folder for checkpoints so that it can roll back, "
                f"or lower lr ({self.config.lr})"
            )
        if self.n_rollbacks == self.config.n_rollbacks:
            raise TrainingDivergedError(
                f"{event}, after {self.n_rollbacks} roll backs; lower lr ({self.config.lr}), "
                f"warm up longer (n_warmup {self.config.n_warmup}) or clip harder "
                f"(clip_norm {self.config.clip_norm})"
            )
        n_rollbacks = self.n_rollbacks + 1
        newest = checkpoint.list_checkpoints(self.folder)[-1]
        self._load(newest)
        self.n_rollbacks = n_rollbacks
        for _ in range(n_rollbacks):  # another order at each attempt from the same checkpoint
            self.batches.reshuffle()
        self._log({"step": self.step, "event": f"{event}: rolled back to {newest.name}"})

    def _save(self) -> None:
        """Write a checkpoint; every process adds where its data and its dropout stand."""
        if self.folder is None:
            return
        own = {"batches": self.batches.state_dict(), "rng": torch.get_rng_state()}
        if self.device.type == "cuda":
            own["cuda_rng"] = torch.cuda.get_rng_state(self.device)
        processes = distributed.gather(own)
        weights = sharding.whole_weights(self.model)
        optimizer = sharding.whole_optimizer_state(self.optimizer)
        if distributed.is_main():
            state = {
                "optimizer": optimizer,
                "scaler": self.scaler.state_dict(),
                "recent_losses": list(self._recent_losses),
                "n_rollbacks": self.n_rollbacks,
                "processes": processes,
                "config": asdict(self.config),
            }
            checkpoint.save_checkpoint(
                self.folder, self.step, weights, state, keep=self.config.n_checkpoints
            )
        distributed.wait_for_all()

    def _load(self, path: Path) -> None:
        """Become the trainer that wrote this checkpoint."""
        loaded = checkpoint.load_checkpoint(path)
        state = loaded.state
        if state["config"] != asdict(self.config):
            theirs, ours = state["config"], asdict(self.config)
            differing = [f"{k} was {theirs.get(k)!r}" for k in ours if theirs.get(k) != ours[k]]
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
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(own["cuda_rng"], self.device)
        self.step, self.n_rollbacks = loaded.step, state["n_rollbacks"]
        self._recent_losses.clear()
        self._recent_losses.extend(state["recent_losses"])


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Of a GPU, which has an exception of its own, or of a CPU, which has not."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _shown(entry: Mapping[str, Any]) -> dict[str, str]:
    """What of a log entry stands behind the progress bar."""
    shown = {"loss": f"{entry['loss']:.3f}", "tokens/s": f"{entry['tokens_per_second']:,.0f}"}
    return shown | ({"mfu": f"{entry['mfu']:.1%}"} if "mfu" in entry else {})
