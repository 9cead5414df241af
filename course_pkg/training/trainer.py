"""The one training loop of the course: any model, one process or many, killed and resumed.

An update takes `n_accumulate` batches, weighs each part of each one's loss by its number of targets
(so that the result equals one large batch, however unevenly padding falls), clips the gradient, and
steps. Every `log_every` updates the losses are read from the device and logged; a spike among them
sends the run back (`training.spikes`), and so does anything that is not finite (`training.health`).
A resumed run continues exactly where the saved one stood (`training.run`).
Chapter: training transformers.
"""

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_pkg.common.checks import flags, real_number
from course_pkg.common.devices import kept_rng, usable_device
from course_pkg.common.files import refuse_file
from course_pkg.models import IGNORE, CountsTargets, LanguageModel
from course_pkg.models.loss import count_targets
from course_pkg.training import checkpoint, distributed, optim, sharding
from course_pkg.training.arguments import (
    check_arguments,
    check_fit,
    checked_losses,
    first_change,
    kinds_of,
)
from course_pkg.training.compute import explained_out_of_memory
from course_pkg.training.lock import only_process
from course_pkg.training.log import Log, Update, check_names
from course_pkg.training.precision import autocast, forbid_tf32
from course_pkg.training.run import (
    Batch,
    BatchSource,
    Run,
    checked_batch,
    structure_of,
)
from course_pkg.training.schedules import Schedule, rate_of
from course_pkg.training.settings import TrainerConfig
from course_pkg.training.spikes import TrainingDivergedError
from course_pkg.training.stopping import StopRequest

__all__ = ["Batch", "BatchSource", "Evaluate", "Trainer", "TrainerConfig", "TrainingDivergedError"]

Evaluate = Callable[[nn.Module], Mapping[str, float | str]]
"""Reports figures, or sample text, on a model in evaluation mode."""

MOST_EMPTY = 1000
"""How many updates in a row may find no target before the data is taken to have none."""


class Trainer:
    """Train a model on a stream of batches.

    Args:
        model: returns `(logits, loss)`, the loss a mean over targets that are not IGNORE; if it is
            a mean over something else, or a sum of several, the model says so as
            `models.CountsTargets`.
        folder: where checkpoints and `log.jsonl` go; None keeps nothing (and cannot roll back).
        evaluate: called every `evaluate_every` updates and at the end; its figures are logged.
        device: where to train; the model is moved there.
        shard: divide the model among the processes, see `training.sharding`. The updates are the
            same, and so are the checkpoints: a run may go on without it.
        full_speed: tokens a second at which the device would be fully used; logs show the share of
            it that is reached, the model-FLOPs utilisation "mfu" of `training.compute`. All ids
            that are read count, those of sources and padding too, predicted or not.
        optimizer: your own over the model's parameters, in place of the config's.
        learning_rate: your own schedule, in place of the config's.

    Raises:
        ValueError: if the model has nothing to train or a weight that is not finite, the batches
            end, the device is not there, the folder is a file, or an optimizer is another model's
            or to be sharded.
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
        learning_rate: Schedule | None = None,
    ):
        if shard and optimizer is not None:
            raise ValueError("optimizer is given; it does not hold the parts that shard makes")
        check_arguments(model, batches, config, evaluate, optimizer, learning_rate)
        self.predicts_next = isinstance(model, LanguageModel)
        flags(shard=shard, show_progress=show_progress)
        if full_speed is not None and not real_number("full_speed", full_speed) > 0:
            raise ValueError(f"full_speed is {full_speed}; it must be positive")
        forbid_tf32()
        self.model, self.config, self.evaluate = model, config, evaluate
        self.device, self.show_progress = usable_device(device), show_progress
        self.count = model.n_targets if isinstance(model, CountsTargets) else count_targets
        structure = structure_of(model)  # before compiling and dividing add to it
        self.forward = sharding.place(model, self.device, config, is_sharded=shard)
        self.optimizer = optimizer or config.make_optimizer(model)
        self.learning_rate = learning_rate or config.learning_rates()
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=config.precision == "float16")
        folder = None if folder is None else refuse_file(folder)
        self.run = Run(
            model,
            batches,
            config,
            self.optimizer,
            self.learning_rate,
            self.scaler,
            self.device,
            folder,
            structure,
        )
        self.log = Log(folder, full_speed)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The log so far, one dict per entry; after a resumption, of all sessions."""
        return self.log.entries

    def train(self, *, resume: bool = False) -> list[dict[str, Any]]:
        """Train until `n_steps` updates are done; return the log, one dict per entry.

        Ctrl-C and SIGTERM take effect after the update, and a folder gets a checkpoint then: with
        `resume` the run goes on as if never stopped.

        Args:
            resume: go on from the newest checkpoint in the folder; if it has none, begin. A run
                that has ended is returned as it is.

        Raises:
            ValueError: if resume is True and there is no folder to go on from, or gradients are
                switched off.
            FileExistsError: if the folder has checkpoints and resume is False.
            BlockingIOError: if another process is training in the folder.
            CheckpointError: if the folder's run had another model, config, data or optimizer.
            TrainingDivergedError: after too many spikes, or at once without a folder.
            KeyboardInterrupt: after Ctrl-C.
        """
        flags(resume=resume)
        if not torch.is_grad_enabled():
            raise ValueError(
                "gradients are switched off here, by torch.no_grad() or torch.inference_mode(); "
                "train outside of it"
            )
        if resume and self.run.folder is None:
            raise ValueError(
                "resume is True, but this trainer keeps no checkpoints; make it by Trainer(..., "
                "folder=...), with the folder of the run that is to go on"
            )
        with only_process(self.run.folder, self.device):
            self._start(resume)
            if self._is_due(self.config.evaluate_every or self.config.n_steps) and self.run.step:
                self._evaluate_once()  # where the session before failed to
            self._do_updates()
        return self.history

    def _start(self, resume: bool) -> None:
        run = self.run
        event = run.start(resume)
        if event is not None:
            self.log.go_on(run.step)
            if run.step < self.config.n_steps:
                self.log.add(run.step, {"event": event})
        elif self.log.has_earlier():
            self.log.add(run.step, {"event": "began anew"})

    def _do_updates(self) -> None:
        run = self.run
        progress = tqdm(
            total=self.config.n_steps,
            initial=run.step,
            disable=not (self.show_progress and distributed.is_main()),
            unit="update",
        )
        since = time.perf_counter() - run.seconds
        with StopRequest() as stop, closing(progress):
            while run.step < self.config.n_steps:
                run.pending.append(self._update())
                run.step += 1
                run.n_done_here += 1
                run.seconds = time.perf_counter() - since
                is_due, is_stopping = self._is_due(self.config.log_every), stop.signal is not None
                if is_due:
                    reason, is_stopping = self._look_back(is_stopping)
                    if reason is not None:
                        self.log.add(*self._gone_back(reason))
                    else:
                        progress.set_postfix(self._note_updates(), refresh=False)
                        self._evaluate_and_save()
                    progress.update(run.step - progress.n)
                    since = time.perf_counter() - run.seconds
                if is_stopping and (is_due or distributed.n_processes() == 1):
                    stop.obey(self._stopped())

    def _is_due(self, every: int) -> bool:
        return self.run.step % every == 0 or self.run.step == self.config.n_steps

    def _update(self) -> Update:
        for group in self.optimizer.param_groups:
            group["lr"] = rate_of(self.learning_rate, self.run.step)
        batches, sizes = self._draw()
        with explained_out_of_memory(batches[0]["targets"].shape, self.device):
            return self._update_by(batches, sizes)

    def _draw(self) -> tuple[list[Batch], list[Sequence[int]]]:
        """Draw the batches of an update; of each, what the parts of its loss are means over."""
        for _ in range(MOST_EMPTY):
            batches = [
                checked_batch(self.run.batches.next_batch(), self.predicts_next)
                for _ in range(self.config.n_accumulate)
            ]
            if self.run.n_done_here == 0:
                check_fit(self.model, batches[0])
            sizes = [self.count(batch) for batch in batches]
            # Without any target there is nothing to learn; other processes may have some, though.
            if any(map(any, sizes)) or distributed.n_processes() > 1:
                return batches, sizes
        raise ValueError(f"{MOST_EMPTY} updates in a row have no target: all are {IGNORE}, IGNORE")

    def _update_by(self, batches: list[Batch], sizes: list[Sequence[int]]) -> Update:
        own_totals = [sum(parts) for parts in zip(*sizes, strict=True)]
        numbers = [*own_totals, sum(map(_n_read, batches))]
        *totals, n_read = distributed.sum_over_processes(numbers, self.device)
        self.forward.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros((), device=self.device)
        for i, (batch, counts) in enumerate(zip(batches, sizes, strict=True)):
            # Gradients are exchanged once, with the last batch of the update.
            is_last = i == len(batches) - 1
            with nullcontext() if is_last else distributed.no_exchange(self.forward):
                parts = zip(self._losses(batch, len(counts)), counts, totals, strict=True)
                shares = [part * (count / _at_least_one(total)) for part, count, total in parts]
                # Of nothing some models say nan, and nobody waits for its gradient; but where
                # several processes wait for each other, all parts take part.
                known = [share for share, n in zip(shares, counts, strict=True) if n]
                taken = shares if distributed.n_processes() > 1 else known
                if not taken:
                    continue
                # Gradients are averaged over processes; the shares are to be summed.
                joint = torch.stack(taken).sum() * distributed.n_processes()
                self.scaler.scale(joint).backward()
            for share in known:
                loss += share.detach()
        self.scaler.unscale_(self.optimizer)
        limit = self.config.clip_norm if self.config.clip_norm is not None else math.inf
        norm = optim.clip_global_norm(self.model.parameters(), limit)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return Update(distributed.sum_tensor_over_processes(loss), norm, n_read)

    def _losses(self, batch: Batch, n_parts: int) -> Sequence[Tensor]:
        """Return the parts of a batch's loss, each a mean in its own right."""
        on_device = {
            # Only from pinned memory can a copy run beside the computation (`Prefetched` pins).
            name: tensor.to(self.device, non_blocking=tensor.is_pinned())
            for name, tensor in batch.items()
        }
        with autocast(self.device, self.config.precision):
            output = self.forward(**on_device)
        return checked_losses(output, n_parts)

    def _look_back(self, is_stopping: bool) -> tuple[str | None, bool]:
        """Say what is wrong with the updates since the last look, and whether some process stops.

        All processes come to the same answer.
        """
        run = self.run
        losses = torch.stack([update.loss for update in run.pending]).tolist()
        norms = torch.stack([update.gradient_norm for update in run.pending]).tolist()
        spike = run.spikes.first_spike(losses)
        ailment = None
        if spike is not None:
            ailment = f"loss {spike:.3f} after update {run.step} is a spike"
        elif (norm := _first_not_finite(norms)) is not None and not self._is_rescaling():
            ailment = f"gradient norm {norm} after update {run.step} is not finite"
        elif (name := run.health.ailment()) is not None:
            ailment = f"{name} after update {run.step} has a number that is not finite"
        is_ill, is_stopping = distributed.any_of_processes(
            (ailment is not None, is_stopping), self.device
        )
        if is_ill and ailment is None:
            ailment = f"another process found update {run.step} to be not finite"
        return ailment, is_stopping

    def _is_rescaling(self) -> bool:
        """Say whether float16 still looks for its scale; what overflows meanwhile is left out."""
        return self.scaler.is_enabled() and self.scaler.get_scale() >= 1

    def _gone_back(self, reason: str) -> tuple[int, dict[str, str]]:
        event = self.run.roll_back(reason)
        return self.run.step, {"event": event}

    def _note_updates(self) -> dict[str, str]:
        run, lr = self.run, rate_of(self.learning_rate, self.run.step - 1)
        shown = self.log.add_updates(run.step, run.pending, run.seconds, lr)
        run.pending, run.seconds = [], 0.0
        return shown

    def _evaluate_and_save(self) -> None:
        if self._is_due(self.config.evaluate_every or self.config.n_steps):
            try:
                self._evaluate_once()
            except Exception:
                if distributed.n_processes() == 1:  # others would have to fail alike, and save too
                    self.run.save()
                raise
        if self._is_due(self.config.checkpoint_interval):
            self.run.save()

    def _evaluate_once(self) -> None:
        """Evaluate what stands there, if that is wanted and was not done."""
        if self.evaluate is None or self.log.is_evaluated(self.run.step):
            return
        self.model.eval()
        before = kinds_of(self.model)
        precision = autocast(self.device, self.config.precision)
        with (
            torch.no_grad(),
            precision,
            sharding.outside_of_forward(self.model),
            kept_rng(self.device),  # dropout goes on as if nobody had drawn a sample
        ):
            figures = self.evaluate(self.model)
        if (changed := first_change(before, kinds_of(self.model))) is not None:
            raise ValueError(
                f"evaluate left {changed}; it must leave the weights as they are, and may change "
                "a copy.deepcopy of the model"
            )
        if not isinstance(figures, Mapping):
            raise ValueError(
                f"evaluate returned {type(figures).__name__}; it must return figures by name, such "
                'as {"valid_loss": 1.5}'
            )
        check_names(figures)
        self.log.add(self.run.step, figures)

    def _stopped(self) -> str:
        """Save what stands there, unless it must not be gone on from; say what happened."""
        run = self.run
        said = f"stopped after update {run.step}"
        if run.folder is None:
            return said
        spikes = copy.deepcopy(run.spikes)  # the next session meets the same losses again
        norms = [float(update.gradient_norm) for update in run.pending]
        is_well = spikes.first_spike([float(update.loss) for update in run.pending]) is None
        is_well &= run.health.ailment() is None
        is_well &= _first_not_finite(norms) is None or self._is_rescaling()
        newest = checkpoint.list_checkpoints(run.folder)[-1]
        if is_well and not newest.name.endswith(f"{run.step:09d}"):
            self.log.add(run.step, {"event": said})
            run.save()
            newest = checkpoint.list_checkpoints(run.folder)[-1]
        return f"{said}; train(resume=True) goes on from {newest}"


def _first_not_finite(numbers: Sequence[float]) -> float | None:
    return next((number for number in numbers if not math.isfinite(number)), None)


def _n_read(batch: Batch) -> int:
    """Return how many ids a model reads of a batch, padding included."""
    return sum(t.numel() for name, t in batch.items() if name == "ids" or name.endswith("_ids"))


def _at_least_one(total: int | Tensor) -> int | Tensor:
    return total.clamp(min=1) if isinstance(total, Tensor) else max(total, 1)
