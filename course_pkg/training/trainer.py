"""The one training loop of the course: any model, one process or many, killed and resumed.

An update takes `n_accumulate` batches, weighs each one's loss by its number of targets (so that the
result equals one large batch, however unevenly padding falls), clips the gradient, and steps.
Every `log_every` updates the losses are read from the device and logged; a spike among them sends
the run back (`training.spikes`). A resumed run continues exactly where the saved one stood
(`training.run`). Chapter: training transformers.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_pkg.models import IGNORE
from course_pkg.training import distributed, optim, sharding
from course_pkg.training.compute import explained_out_of_memory
from course_pkg.training.log import Log, Update
from course_pkg.training.precision import autocast, forbid_tf32
from course_pkg.training.run import Batch, BatchSource, Run
from course_pkg.training.settings import TrainerConfig
from course_pkg.training.spikes import TrainingDivergedError

__all__ = ["Batch", "BatchSource", "Evaluate", "Trainer", "TrainerConfig", "TrainingDivergedError"]

Evaluate = Callable[[nn.Module], Mapping[str, float | str]]
"""Reports figures, or sample text, on a model in evaluation mode."""

MOST_EMPTY = 1000
"""How many updates in a row may find no target before the data is taken to have none."""


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

    Raises:
        ValueError: if the model has nothing to train, the batches end, or a given optimizer is to
            be sharded.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: BatchSource,
        config: TrainerConfig,
        *,
        folder: str | Path | None = None,
        evaluate: Evaluate | None = None,
        device: torch.device | str = "cpu",
        full_speed: float | None = None,
        show_progress: bool = False,
        shard: bool = False,
        optimizer: torch.optim.Optimizer | None = None,
        learning_rate: optim.Schedule | None = None,
    ):
        if shard and optimizer is not None:
            raise ValueError("optimizer is given; it does not hold the parts that shard makes")
        if batches is not None and not hasattr(batches, "next_batch"):
            raise ValueError(
                f"batches is {type(batches).__name__}; it must go on for ever, as what "
                "window_batches and example_batches make of data does"
            )
        forbid_tf32()
        self.model, self.config, self.evaluate = model, config, evaluate
        self.device, self.show_progress = torch.device(device), show_progress
        self.forward = sharding.place(model, self.device, config, is_sharded=shard)
        self.optimizer = optimizer or config.make_optimizer(model)
        self.learning_rate = learning_rate or config.learning_rates()
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=config.precision == "float16")
        folder = None if folder is None else Path(folder)
        self.run = Run(model, batches, config, self.optimizer, self.scaler, self.device, folder)
        self.log = Log(folder, full_speed)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The log so far, one dict per entry."""
        return self.log.entries

    def train(self, *, resume: bool = False) -> list[dict[str, Any]]:
        """Train until `n_steps` updates are done; return the log, one dict per entry.

        Args:
            resume: go on from the newest checkpoint in the folder; without one, start anew.

        Raises:
            FileExistsError: if the folder has checkpoints and resume is False.
            TrainingDivergedError: after too many spikes, or at once without a folder.
        """
        run = self.run
        event = run.start(resume)
        if event is not None:
            self.log.add(run.step, {"event": event})
        progress = tqdm(
            total=self.config.n_steps,
            initial=run.step,
            disable=not (self.show_progress and distributed.is_main()),
            unit="update",
        )
        updates: list[Update] = []
        since = time.perf_counter()
        while run.step < self.config.n_steps:
            updates.append(self._update())
            run.step += 1
            if not self._is_due(self.config.log_every):
                continue
            spike = run.spikes.first_spike(torch.stack([loss for loss, _, _ in updates]).tolist())
            if spike is not None:
                event = run.roll_back(spike)
                self.log.add(run.step, {"event": event})
            else:
                seconds, lr = time.perf_counter() - since, self.learning_rate(run.step - 1)
                shown = self.log.add_updates(run.step, updates, seconds, lr)
                progress.set_postfix(shown, refresh=False)
                self._evaluate_and_save()
            progress.update(run.step - progress.n)
            updates, since = [], time.perf_counter()
        progress.close()
        return self.history

    def _is_due(self, every: int) -> bool:
        return self.run.step % every == 0 or self.run.step == self.config.n_steps

    def _update(self) -> Update:
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(self.run.step)
        batches, sizes = self._draw()
        with explained_out_of_memory(batches[0]["targets"].shape, self.device):
            return self._update_by(batches, sizes)

    def _draw(self) -> tuple[list[Batch], list[int]]:
        """Draw the batches of an update, with the number of targets of each."""
        for _ in range(MOST_EMPTY):
            batches = [self.run.batches.next_batch() for _ in range(self.config.n_accumulate)]
            sizes = [int((batch["targets"] != IGNORE).sum()) for batch in batches]
            # Without any target there is nothing to learn; other processes may have some, though.
            if sum(sizes) or distributed.n_processes() > 1:
                return batches, sizes
        raise ValueError(f"{MOST_EMPTY} updates in a row have no target: all are {IGNORE}, IGNORE")

    def _update_by(self, batches: list[Batch], sizes: list[int]) -> Update:
        total = distributed.sum_over_processes(sum(sizes), self.device)
        divisor = total.clamp(min=1) if isinstance(total, Tensor) else total
        self.forward.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros((), device=self.device)
        for i, (batch, size) in enumerate(zip(batches, sizes, strict=True)):
            # Gradients are exchanged once, with the last batch of the update.
            is_last = i == len(batches) - 1
            with nullcontext() if is_last else distributed.no_exchange(self.forward):
                share = self._loss(batch) * (size / divisor)
                if size == 0 and distributed.n_processes() == 1:
                    continue  # some models say nan here, and nobody waits for the gradient
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
            # Only from pinned memory can a copy run beside the computation (`Prefetched` pins).
            name: tensor.to(self.device, non_blocking=tensor.is_pinned())
            for name, tensor in batch.items()
        }
        with autocast(self.device, self.config.precision):
            loss: Tensor = self.forward(**on_device)[1]
        return loss

    def _evaluate_and_save(self) -> None:
        every = self.config.evaluate_every or self.config.n_steps
        if self.evaluate is not None and self._is_due(every):
            self.model.eval()
            precision = autocast(self.device, self.config.precision)
            with torch.no_grad(), precision, sharding.outside_of_forward(self.model):
                self.log.add(self.run.step, self.evaluate(self.model))
        if self._is_due(self.config.checkpoint_every):
            self.run.save()
